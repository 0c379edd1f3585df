"""OffsetFetch: the positions of one group or of many."""

import time
import uuid
from collections.abc import Callable
from contextlib import closing

import pytest

from ottla.protocol.apis.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.group_offsets import (
    Found,
    commit,
    fetch,
    fetch_group,
    id_of,
    new_group,
)

NOTHING = Found(-1, "", -1, 0)


@pytest.mark.parametrize("version", range(1, 11))
def test_what_was_never_committed_is_minus_one(client: Client, version: int) -> None:
    topic, group = client.new_topic(3), new_group(client)
    commit(client, group, topic, {1: 6}, epoch=0, metadata="text")
    found = fetch(client, group, topic, [0, 1, 2], version)
    epoch = 0 if version >= 5 else -1
    assert found == {0: NOTHING, 1: Found(6, "text", epoch, 0), 2: NOTHING}


@pytest.mark.parametrize("version", range(2, 11))
def test_null_stands_for_every_topic(client: Client, version: int) -> None:
    topics, group = [client.new_topic(2), client.new_topic(2)], new_group(client)
    for topic in topics:
        commit(client, group, topic, {0: 5, 1: 6})
    answered = fetch_group(client, group, None, version)
    found = {
        (topic.topic_id if version >= 10 else topic.name): {
            each.partition_index: each.committed_offset for each in topic.partitions
        }
        for topic in answered.topics
    }
    names = [id_of(client, topic) for topic in topics] if version >= 10 else topics
    assert found == {name: {0: 5, 1: 6} for name in names}


@pytest.mark.parametrize("version", [1, 7, 9])
def test_a_group_or_topic_that_does_not_exist_has_no_offsets(client: Client, version: int) -> None:
    topic, group = client.new_topic(), new_group(client)
    assert fetch(client, group, topic, [0, 77], version) == {0: NOTHING, 77: NOTHING}
    assert fetch(client, group, "no-such-topic", [0], version) == {0: NOTHING}


def test_an_unknown_topic_id_is_called_that(client: Client) -> None:
    group, unknown = new_group(client), uuid.uuid4()
    wanted = OffsetFetchRequestTopics(topic_id=unknown, partition_indexes=[0, 1])
    [topic] = fetch_group(client, group, [wanted], 10).topics
    assert topic.topic_id == unknown
    assert [(each.committed_offset, each.error_code) for each in topic.partitions] == [
        (-1, ErrorCode.UNKNOWN_TOPIC_ID)
    ] * 2


def test_no_topics_are_not_all_topics(client: Client) -> None:
    topic, group = client.new_topic(), new_group(client)
    commit(client, group, topic, {0: 5})
    assert fetch_group(client, group, []).topics == []


def test_many_groups_are_answered_at_once(client: Client) -> None:
    topic = client.new_topic()
    groups = [new_group(client) for _ in range(10)]
    for number, group in enumerate(groups):
        commit(client, group, topic, {0: number})
    wanted = [OffsetFetchRequestTopics(name=topic, partition_indexes=[0])]
    asked = [OffsetFetchRequestGroup(group_id=group, topics=wanted) for group in groups]
    answered = client.ask(OffsetFetchRequest(groups=asked), 8).groups
    found = {each.group_id: each.topics[0].partitions[0].committed_offset for each in answered}
    assert found == {group: number for number, group in enumerate(groups)}


def test_no_groups_get_no_answer(client: Client) -> None:
    new_group(client)
    assert client.ask(OffsetFetchRequest(groups=[]), 8).groups == []


def test_offsets_go_with_their_topic(client: Client) -> None:
    gone, stays, group = client.new_topic(), client.new_topic(), new_group(client)
    for topic in (gone, stays):
        commit(client, group, topic, {0: 5})
    client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name=gone)], timeout_ms=10_000))
    wait_for(
        lambda: [topic.name for topic in fetch_group(client, group, None).topics] == [stays],
        "the offsets of a deleted topic to go",
    )


@pytest.mark.parametrize("version", [1, 2, 7, 8, 10])
def test_before_there_is_a_coordinator_each_version_is_told_in_its_way(
    own_broker: Callable[..., OttlaBroker], version: int
) -> None:
    with closing(Client(own_broker().bootstrap)) as client:
        topic = client.new_topic()
        wanted = OffsetFetchRequestTopics(
            name=topic, topic_id=id_of(client, topic), partition_indexes=[0]
        )
        answered = fetch_group(client, "group", [wanted], version)
    missing = ErrorCode.COORDINATOR_NOT_AVAILABLE
    if version == 1:
        [found] = answered.topics[0].partitions
        assert (found.committed_offset, found.error_code) == (-1, missing)
    else:
        assert (answered.error_code, answered.topics) == (missing, [])


def test_ten_thousand_offsets_are_committed_and_fetched_in_no_time(client: Client) -> None:
    # One topic stands for many: a topic of ten thousand partitions takes a while to make.
    topic, group = client.new_topic(100), new_group(client)
    offsets = {index: index for index in range(100)}
    assert set(commit(client, group, topic, offsets).values()) == {0}
    wanted = [
        OffsetFetchRequestTopics(name=topic, partition_indexes=list(range(100))) for _ in range(100)
    ]
    began = time.perf_counter()
    answered = fetch_group(client, group, wanted)
    took_s = time.perf_counter() - began
    assert sum(len(each.partitions) for each in answered.topics) == 10_000
    assert took_s < 1  # measured 0.02: a busy machine is not taken for a slow broker
