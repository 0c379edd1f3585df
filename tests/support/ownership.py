"""Who owned what in each generation of a group, and when, as its coordinator wrote it down."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from uuid import UUID

from confluent_kafka import Message, TopicPartition

from ottla.coordination.groups.consumer_records import (
    KEY_VERSIONS,
    CurrentValue,
    Kind,
    decode_key,
    decode_value,
)
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


Partition = tuple[UUID, int]
Holdings = dict[str, set[Partition]]


def written_generations(bootstrap: str, group: str) -> Generations:
    """The share of each member in each generation; a restart of a static member may write one twice."""
    found: Generations = {}
    for message in _written(bootstrap, group):
        key, value = message.key(), message.value()
        if key_version(key) != GROUP_KEY_VERSION or value is None or decode_group_key(key) != group:
            continue
        generation = decode_group_value(value)
        found[generation.generation] = [_share(each.assignment) for each in generation.members]
    return found


def written_holdings(bootstrap: str, group: str) -> Iterator[Holdings]:
    """What each member of a consumer group (KIP-848) holds, after each record that says so.

    Epochs prove nothing here: members of one epoch may be given their parts at different times, and one of an older
    epoch holds what it has not yet given up. So what is pending revocation counts, too.
    """
    holdings: Holdings = {}
    for message in _written(bootstrap, group):
        if key_version(message.key()) not in KEY_VERSIONS:
            continue
        key = decode_key(message.key())
        if (key.kind, key.group_id) != (Kind.CURRENT, group):
            continue
        holdings[key.name] = set() if message.value() is None else _held(message.value())
        yield dict(holdings)


def _held(value: bytes) -> set[Partition]:
    current = decode_value(Kind.CURRENT, value)
    assert isinstance(current, CurrentValue)
    owned = chain(current.assigned_partitions, current.partitions_pending_revocation)
    return {(each.topic_id, partition) for each in owned for partition in each.partitions}


def _written(bootstrap: str, group: str) -> list[Message]:
    client = consumer(bootstrap)
    partitions = client.list_topics(OFFSETS_TOPIC, timeout=10).topics[OFFSETS_TOPIC].partitions
    client.assign([TopicPartition(OFFSETS_TOPIC, partition_for(group, len(partitions)), 0)])
    found = read_to_end(client)
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


def held_twice(holdings: Holdings) -> list[Partition]:
    """The partitions that two members hold at once; there should be none."""
    holders = Counter(chain.from_iterable(holdings.values()))
    return [partition for partition, count in holders.items() if count > 1]
