"""Who owned what in each generation of a classic group, as its coordinator wrote it down."""

from confluent_kafka import TopicPartition

from ottla.coordination.groups.records import (
    GROUP_KEY_VERSION,
    decode_group_key,
    decode_group_value,
    key_version,
)
from ottla.coordination.routing import partition_for
from ottla.protocol.consumer_protocol import decode_assignment
from tests.support.clients import consumer, read_to_end

OFFSETS_TOPIC = "__consumer_offsets"
Generations = dict[int, list[set[int]]]


def written_generations(bootstrap: str, group: str) -> Generations:
    """The share of each member in each generation; a restart of a static member may write one twice."""
    client = consumer(bootstrap)
    partitions = client.list_topics(OFFSETS_TOPIC, timeout=10).topics[OFFSETS_TOPIC].partitions
    client.assign([TopicPartition(OFFSETS_TOPIC, partition_for(group, len(partitions)), 0)])
    found: Generations = {}
    for message in read_to_end(client):
        key, value = message.key(), message.value()
        if key_version(key) != GROUP_KEY_VERSION or value is None or decode_group_key(key) != group:
            continue
        generation = decode_group_value(value)
        found[generation.generation] = [_share(each.assignment) for each in generation.members]
    client.close()
    return found


def _share(assignment: bytes) -> set[int]:
    topics = decode_assignment(assignment).partitions
    return {partition for topic in topics for partition in topic.partitions}


def owned_twice(generations: Generations) -> list[int]:
    """The generations in which one partition was given to two members; there should be none."""
    return [
        number
        for number, shares in generations.items()
        if sum(map(len, shares)) != len(set().union(*shares))
    ]
