"""Fetch as it waits, wakes, and bounds its answers."""

import time

import pytest

from tests.support.clients import create_topic
from tests.support.wire import (
    NOW_MS,
    Wire,
    batch,
    fetch_request,
    fetched,
    produce_request,
    produced,
    values_of,
)

pytestmark = pytest.mark.compat

OFFSET_OUT_OF_RANGE = 1
UNKNOWN_TOPIC_OR_PARTITION = 3
LONG_MS = 8000


def append(bootstrap: str, topic: str, *values: bytes) -> int:
    """Produce one batch over a connection of its own and return its base offset."""
    with Wire(bootstrap) as wire:
        answer = produced(wire.ask(produce_request(topic, batch(*values))))
    assert answer.error_code == 0
    return answer.base_offset


def test_a_waiting_fetch_wakes_as_soon_as_a_record_arrives(
    bootstrap: str, wire: Wire, topic: str
) -> None:
    request = fetch_request(topic, 0, max_wait_ms=LONG_MS)
    wire.send(request)
    began = time.monotonic()
    append(bootstrap, topic, b"wake up")
    assert values_of(fetched(wire.receive(request)).records) == [b"wake up"]
    assert time.monotonic() - began < 2.0


def test_an_empty_fetch_waits_for_as_long_as_asked(wire: Wire, topic: str) -> None:
    began = time.monotonic()
    answer = fetched(wire.ask(fetch_request(topic, 0, max_wait_ms=300)))
    assert 0.25 < time.monotonic() - began < 2.0
    assert (answer.error_code, answer.high_watermark, answer.records or b"") == (0, 0, b"")


def test_min_bytes_are_waited_for(bootstrap: str, wire: Wire, topic: str) -> None:
    request = fetch_request(topic, 0, max_wait_ms=LONG_MS, min_bytes=1000)
    wire.send(request)
    append(bootstrap, topic, b"too little")
    wire.socket.settimeout(0.3)
    with pytest.raises(TimeoutError):
        wire.receive(request)
    wire.socket.settimeout(10)
    append(bootstrap, topic, b"x" * 2000)
    assert values_of(fetched(wire.receive(request)).records) == [b"too little", b"x" * 2000]


def test_min_bytes_give_up_after_the_wait(bootstrap: str, wire: Wire, topic: str) -> None:
    append(bootstrap, topic, b"too little")
    answer = wire.ask(fetch_request(topic, 0, max_wait_ms=200, min_bytes=100_000))
    assert values_of(fetched(answer).records) == [b"too little"]


def test_an_offset_inside_a_batch_brings_the_whole_batch(
    bootstrap: str, wire: Wire, topic: str
) -> None:
    append(bootstrap, topic, b"a", b"b", b"c")
    append(bootstrap, topic, b"d")
    for offset, first in ((0, b"a"), (2, b"a"), (3, b"d")):
        assert values_of(fetched(wire.ask(fetch_request(topic, offset))).records)[0] == first


def test_a_limit_smaller_than_a_batch_still_brings_one_whole_batch(
    bootstrap: str, wire: Wire, topic: str
) -> None:
    append(bootstrap, topic, b"x" * 5000)
    append(bootstrap, topic, b"y" * 5000)
    answer = fetched(wire.ask(fetch_request(topic, 0, max_bytes=100)))
    assert values_of(answer.records) == [b"x" * 5000]


@pytest.mark.parametrize("offset", [-1, 2, 1000])
def test_offsets_outside_the_log_are_out_of_range(
    bootstrap: str, wire: Wire, topic: str, offset: int
) -> None:
    append(bootstrap, topic, b"only")
    answer = fetched(wire.ask(fetch_request(topic, offset, max_wait_ms=LONG_MS)))
    assert answer.error_code == OFFSET_OUT_OF_RANGE


def test_the_end_of_the_log_is_a_good_place_to_wait(bootstrap: str, wire: Wire, topic: str) -> None:
    append(bootstrap, topic, b"only")
    answer = fetched(wire.ask(fetch_request(topic, 1, max_wait_ms=50)))
    assert (answer.error_code, answer.high_watermark) == (0, 1)


def test_unknown_topics_and_partitions_are_named(wire: Wire, topic: str) -> None:
    for name, partition in (("no-such-topic", 0), (topic, 7)):
        request = fetch_request(name, 0, partition=partition, max_wait_ms=LONG_MS)
        assert fetched(wire.ask(request)).error_code == UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", range(4, 13))
def test_every_version_by_name_brings_the_same_records(
    bootstrap: str, wire: Wire, topic: str, version: int
) -> None:
    append(bootstrap, topic, b"a", b"b")
    answer = fetched(wire.ask(fetch_request(topic, 0, version=version)))
    assert values_of(answer.records) == [b"a", b"b"]
    assert (answer.high_watermark, answer.last_stable_offset) == (2, 2)


@pytest.mark.parametrize("version", range(3, 13))
def test_every_version_of_produce_appends(wire: Wire, topic: str, version: int) -> None:
    answer = produced(wire.ask(produce_request(topic, batch(b"v"), version=version)))
    assert (answer.error_code, answer.base_offset) == (0, 0)
    assert answer.log_append_time_ms == -1


def test_a_future_time_beyond_the_topics_limit_is_refused(bootstrap: str, wire: Wire) -> None:
    topic = create_topic(bootstrap, message_timestamp_after_max_ms=1000)
    far = batch(b"v", timestamp_ms=NOW_MS + 10_000_000)
    assert produced(wire.ask(produce_request(topic, far))).error_code == 32
    assert produced(wire.ask(produce_request(topic, batch(b"v")))).error_code == 0
