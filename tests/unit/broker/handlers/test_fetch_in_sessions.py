"""Fetch within sessions (KIP-227): named once, told of news only."""

import time
from collections.abc import Mapping
from typing import Any

import pytest

from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.records import (
    LONG_MS,
    batch,
    by_partition,
    fetch_request,
    produce,
    receive,
    send,
    topic_id,
    values,
)
from tests.unit.broker.handlers.test_delete_records import delete
from tests.unit.broker.handlers.test_fetch_waiting import delete_topic, taking

NEW, NONE = 0, -1


class Session:
    """The client's side of a session on one topic."""

    def __init__(self, client: Client, topic: Any, offsets: Mapping[int, int], version: int = 12):
        self.client, self.topic, self.version = client, topic, version
        answer = self.ask(offsets, session_id=0, epoch=NEW, max_wait_ms=0)
        assert answer.error_code == ErrorCode.NONE
        self.id, self.epoch = answer.session_id, 1
        self.first = by_partition(answer.responses)

    def ask(self, offsets: Mapping[int, int], *, session_id: int, epoch: int, **options: Any):
        topics = {self.topic: offsets} if offsets else {}
        request = fetch_request(topics, session_id=session_id, session_epoch=epoch, **options)
        return self.client.ask(request, self.version)

    def next(self, offsets: Mapping[int, int] | None = None, **options: Any):
        """The news since the last request."""
        options = {"max_wait_ms": 0, **options}
        answer = self.ask(offsets or {}, session_id=self.id, epoch=self.epoch, **options)
        assert (answer.error_code, answer.session_id) == (ErrorCode.NONE, self.id)
        self.epoch += 1
        return by_partition(answer.responses)


@pytest.mark.parametrize("version", [7, 9, 11, 12, 13, 15, 18])
def test_only_news_are_told(client: Client, version: int) -> None:
    name = client.new_topic(3)
    topic = topic_id(client, name) if version >= 13 else name
    session = Session(client, topic, {0: 0, 1: 0, 2: 0}, version)
    assert session.id > 0
    assert sorted(session.first) == [0, 1, 2]
    assert session.next() == {}
    produce(client, name, batch(b"a"), partition=1)
    news = session.next()
    assert sorted(news) == [1]
    assert values(news[1].records) == [b"a"]
    assert sorted(session.next()) == [1], "the client has not moved on"
    assert session.next({1: 1}) == {}


def test_records_of_busy_partitions_take_turns(client: Client) -> None:
    topic = client.new_topic(3)
    for partition in range(3):
        for _ in range(4):
            produce(client, topic, batch(b"x" * 1000), partition=partition)
    session = Session(client, topic, {0: 4, 1: 4, 2: 4})
    news = session.next({0: 0, 1: 0, 2: 0}, max_bytes=1)
    served = [n for n, part in news.items() if part.records]
    for _ in range(2):
        served += [n for n, part in session.next(max_bytes=1).items() if part.records]
    assert sorted(served) == [0, 1, 2]


def test_partitions_are_added_changed_and_forgotten(client: Client) -> None:
    topic = client.new_topic(3)
    for partition in range(3):
        produce(client, topic, batch(b"%d" % partition), partition=partition)
    session = Session(client, topic, {0: 0})
    assert sorted(session.first) == [0]
    assert sorted(session.next({0: 1, 1: 0, 2: 1})) == [1, 2]
    assert session.next({1: 1}, forgotten={topic: [2]}) == {}
    produce(client, topic, batch(b"unseen"), partition=2)
    assert session.next() == {}


def test_who_follows_nothing_any_more_has_no_session(client: Client) -> None:
    topic = client.new_topic()
    session = Session(client, topic, {0: 0})
    request = fetch_request(
        {}, {topic: [0]}, session_id=session.id, session_epoch=1, max_wait_ms=LONG_MS
    )
    with taking(0, 5):
        answer = client.ask(request, 12)
    assert (answer.error_code, answer.session_id, answer.responses) == (0, 0, [])
    gone = session.ask({}, session_id=session.id, epoch=2)
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_an_epoch_out_of_turn_and_an_unknown_session_are_told(client: Client) -> None:
    topic = client.new_topic()
    session = Session(client, topic, {0: 0})
    wrong = session.ask({}, session_id=session.id, epoch=5, max_wait_ms=LONG_MS)
    assert wrong.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert (wrong.session_id, wrong.responses) == (0, [])
    assert session.next() == {}, "the session goes on"
    unknown = session.ask({}, session_id=session.id ^ 1, epoch=1, max_wait_ms=LONG_MS)
    assert unknown.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_names_and_ids_do_not_mix_in_a_session(client: Client) -> None:
    topic = client.new_topic()
    session = Session(client, topic, {0: 0}, version=12)
    session.version = 13
    mixed = session.ask({}, session_id=session.id, epoch=1)
    assert mixed.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_session_is_closed_by_a_request_that_says_so(client: Client) -> None:
    topic = client.new_topic()
    produce(client, topic, batch(b"a"))
    session = Session(client, topic, {0: 0})
    last = session.ask({0: 0}, session_id=session.id, epoch=NONE, max_wait_ms=0)
    assert (last.error_code, last.session_id) == (ErrorCode.NONE, 0)
    assert values(by_partition(last.responses)[0].records) == [b"a"]
    gone = session.ask({}, session_id=session.id, epoch=1)
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_new_session_takes_the_place_of_the_old_one(client: Client) -> None:
    topic = client.new_topic()
    session = Session(client, topic, {0: 0})
    again = session.ask({0: 0}, session_id=session.id, epoch=NEW, max_wait_ms=0)
    assert again.session_id not in (0, session.id)
    gone = session.ask({}, session_id=session.id, epoch=1)
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_nothing_new_is_waited_for(client: Client) -> None:
    session = Session(client, client.new_topic(2), {0: 0, 1: 0})
    with taking(0.25, 5):
        assert session.next(max_wait_ms=300) == {}


def test_news_wake_a_session_that_waits(client: Client, bootstrap: str) -> None:
    topic = client.new_topic(2)
    session = Session(client, topic, {0: 0, 1: 0})
    request = fetch_request({}, session_id=session.id, session_epoch=1, max_wait_ms=LONG_MS)
    other = Client(bootstrap)
    with taking(0, 5):
        send(client, (request, 12))
        produce(other, topic, batch(b"news"), partition=1)
        found = by_partition(receive(client, request, 12, 0).responses)
    other.close()
    assert {n: values(part.records) for n, part in found.items()} == {1: [b"news"]}


def test_a_log_start_that_moves_is_news(client: Client) -> None:
    topic = client.new_topic()
    produce(client, topic, batch(b"a", b"b", b"c"))
    session = Session(client, topic, {0: 3})
    assert (session.first[0].log_start_offset, session.next()) == (0, {})
    delete(client, topic, 2)
    news = session.next()
    assert (news[0].error_code, news[0].log_start_offset) == (ErrorCode.NONE, 2)
    assert session.next() == {}


@pytest.mark.parametrize("by_id", [False, True])
def test_a_topic_deleted_in_a_session_is_told_each_time(client: Client, by_id: bool) -> None:
    name = client.new_topic()
    topic, version = (topic_id(client, name), 13) if by_id else (name, 12)
    session = Session(client, topic, {0: 0}, version)
    delete_topic(client, name)
    deadline = time.monotonic() + 10
    while (news := session.next()) == {} and time.monotonic() < deadline:
        pass  # Kafka forgets a topic a little after it says so
    # A session of Kafka's keeps the name that belongs to an id, and speaks of the partition even then.
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID
    assert news[0].error_code in unknown[: 1 + by_id]
    assert session.next()[0].error_code == news[0].error_code


def test_old_versions_know_no_sessions(client: Client) -> None:
    topic = client.new_topic()
    answer = client.ask(fetch_request({topic: {0: 0}}, max_wait_ms=0), 6)
    assert (answer.session_id, sorted(by_partition(answer.responses))) == (0, [0])
