"""DescribeTopicPartitions: topics in the order of their names, a page at a time."""

import uuid

import pytest

from ottla.protocol.apis.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client


@pytest.fixture
def topics(client: Client) -> list[str]:
    """Three topics in order, of three partitions each."""
    return sorted(client.new_topic(partitions=3) for _ in range(3))


def page(
    client: Client, names: list[str], limit: int = 2000, cursor: Cursor | None = None
) -> DescribeTopicPartitionsResponse:
    return client.ask(
        DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in names],
            response_partition_limit=limit,
            cursor=cursor,
        )
    )


def shown(answer: DescribeTopicPartitionsResponse) -> list[tuple[str, list[int]]]:
    return [(t.name, [p.partition_index for p in t.partitions]) for t in answer.topics]


def test_topics_come_in_the_order_of_their_names(client: Client, topics: list[str]) -> None:
    answer = page(client, topics[::-1])
    assert shown(answer) == [(name, [0, 1, 2]) for name in topics]
    assert answer.next_cursor is None
    [first, *_] = answer.topics
    assert (first.error_code, first.is_internal) == (ErrorCode.NONE, False)
    assert first.topic_authorized_operations == 0b1101_1111_1000
    partition = first.partitions[0]
    assert (partition.error_code, partition.leader_epoch) == (ErrorCode.NONE, 0)
    assert partition.replica_nodes == partition.isr_nodes == [partition.leader_id]
    assert partition.offline_replicas == []


@pytest.mark.parametrize("limit", range(1, 11))
def test_pages_join_without_gaps(client: Client, topics: list[str], limit: int) -> None:
    seen: list[tuple[str, int]] = []
    cursor = None
    while True:
        answer = page(client, topics, limit, cursor)
        found = [(name, index) for name, indexes in shown(answer) for index in indexes]
        assert 0 < len(found) <= limit
        seen += found
        cursor = answer.next_cursor
        if cursor is None:
            break
    assert seen == [(name, index) for name in topics for index in range(3)]


def test_a_page_ends_where_its_cursor_says(client: Client, topics: list[str]) -> None:
    answer = page(client, topics, 4)
    assert answer.next_cursor == Cursor(topic_name=topics[1], partition_index=1)
    answer = page(client, topics, 3)
    assert answer.next_cursor == Cursor(topic_name=topics[1], partition_index=0)


def test_no_names_ask_for_every_topic(client: Client, topics: list[str]) -> None:
    answer = page(client, [])
    names = [name for name, _ in shown(answer)]
    while answer.next_cursor is not None:  # other tests have left many topics
        answer = page(client, [], cursor=answer.next_cursor)
        names += [name for name, _ in shown(answer)]
    assert set(topics) <= set(names)
    assert names == sorted(names)


def test_a_cursor_into_all_topics_may_name_one_that_is_gone(
    client: Client, topics: list[str]
) -> None:
    cursor = Cursor(topic_name=topics[0] + "-gone", partition_index=1)
    [(name, partitions)] = shown(page(client, [], 1, cursor))
    assert name > cursor.topic_name
    assert partitions == [0]


def test_a_cursor_outside_of_the_topics_asked_for_is_refused(
    client: Client, topics: list[str]
) -> None:
    answer = page(client, topics, cursor=Cursor(topic_name=topics[0] + "-gone"))
    assert {topic.error_code for topic in answer.topics} == {ErrorCode.INVALID_REQUEST}


def test_unknown_topics_are_told(client: Client, topics: list[str]) -> None:
    unknown = f"unknown-{uuid.uuid4().hex}"
    by_name = {t.name: t for t in page(client, [topics[0], unknown, "a/b"]).topics}
    assert by_name[topics[0]].error_code == ErrorCode.NONE
    assert by_name[unknown].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert by_name["a/b"].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    told = {topic.topic_authorized_operations for topic in by_name.values()}
    assert told == {0b1101_1111_1000}


def test_a_cursor_before_the_first_partition_is_refused(client: Client, topics: list[str]) -> None:
    answer = page(client, topics[:1], cursor=Cursor(topic_name=topics[0], partition_index=-1))
    assert {topic.error_code for topic in answer.topics} == {ErrorCode.INVALID_REQUEST}
