"""Requests sent without waiting for answers take effect, and are answered, in order."""

import pytest

from tests.support.clients import create_topic
from tests.support.wire import (
    Wire,
    batch,
    fetch_request,
    fetched,
    frame_of,
    produce_request,
    produced,
    values_of,
)

pytestmark = pytest.mark.compat

OUT_OF_ORDER_SEQUENCE_NUMBER = 45


def test_a_hundred_produces_in_one_write_land_in_order(wire: Wire, topic: str) -> None:
    requests = [produce_request(topic, batch(b"%d" % n)) for n in range(100)]
    wire.send_bytes(b"".join(frame_of(r, n) for n, r in enumerate(requests)))
    answers = [wire.receive(request) for request in requests]
    assert [answer.header.correlation_id for answer in answers] == list(range(100))
    assert [produced(answer).base_offset for answer in answers] == list(range(100))


def test_codecs_and_sizes_do_not_let_a_later_produce_overtake(wire: Wire, bootstrap: str) -> None:
    topic = create_topic(bootstrap, compression_type="gzip")
    values = [b"x" * 900_000 if n % 5 == 0 else b"%d" % n for n in range(20)]
    requests = [produce_request(topic, batch(value, codec=n % 2)) for n, value in enumerate(values)]
    wire.send_bytes(b"".join(frame_of(r, n) for n, r in enumerate(requests)))
    offsets = [produced(wire.receive(request)).base_offset for request in requests]
    assert offsets == list(range(20))


def test_a_fetch_behind_a_produce_sees_its_record(wire: Wire, topic: str) -> None:
    write = produce_request(topic, batch(b"seen"))
    read = fetch_request(topic, 0, max_wait_ms=5000)
    wire.send_bytes(frame_of(write, 1) + frame_of(read, 2))
    assert produced(wire.receive(write)).error_code == 0
    assert values_of(fetched(wire.receive(read)).records) == [b"seen"]


def test_answers_wait_for_the_fetch_in_front_of_them(
    bootstrap: str, wire: Wire, topic: str
) -> None:
    read = fetch_request(topic, 0, max_wait_ms=300)
    write = produce_request(topic, batch(b"after"))
    wire.send_bytes(frame_of(read, 1) + frame_of(write, 2))
    assert wire.receive(read).header.correlation_id == 1
    assert produced(wire.receive(write)).error_code == 0


def test_produces_without_acks_take_no_answer(wire: Wire, topic: str) -> None:
    silent = [produce_request(topic, batch(b"%d" % n), acks=0) for n in range(10)]
    read = fetch_request(topic, 0)
    wire.send_bytes(b"".join(frame_of(r, n) for n, r in enumerate([*silent, read])))
    answer = wire.receive(read)
    assert answer.header.correlation_id == 10
    assert len(values_of(fetched(answer).records)) == 10


def test_sequences_of_an_idempotent_producer_are_checked(wire: Wire, topic: str) -> None:
    producer_id = 4_000_000
    first = batch(b"a", b"b", producer=(producer_id, 0, 0))
    assert produced(wire.ask(produce_request(topic, first, acks=-1))).base_offset == 0
    again = produced(wire.ask(produce_request(topic, first, acks=-1)))
    assert (again.error_code, again.base_offset) == (0, 0)
    gap = batch(b"d", producer=(producer_id, 0, 3))
    refused = produced(wire.ask(produce_request(topic, gap, acks=-1)))
    assert refused.error_code == OUT_OF_ORDER_SEQUENCE_NUMBER
    following = batch(b"c", producer=(producer_id, 0, 2))
    assert produced(wire.ask(produce_request(topic, following, acks=-1))).base_offset == 2
    assert values_of(fetched(wire.ask(fetch_request(topic, 0))).records) == [b"a", b"b", b"c"]
