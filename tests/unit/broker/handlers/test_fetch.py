"""Fetch: which batches come, within which limits, and what is said of partitions that have none."""

import os
import uuid
from collections.abc import Callable
from contextlib import closing

import pytest

from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.compression import Codec
from tests.support.broker import OttlaBroker
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.records import (
    LONG_MS,
    batch,
    by_partition,
    fetch,
    fetch_request,
    produce,
    topic_id,
    values,
)
from tests.unit.broker.handlers.test_delete_records import delete

BY_NAME = range(4, 13)
BY_ID = range(13, 19)
READ_COMMITTED = 1


@pytest.mark.parametrize("version", [*BY_NAME, *BY_ID])
def test_every_version_brings_the_records(client: Client, version: int) -> None:
    name = client.new_topic()
    produce(client, name, batch(b"a", b"b", codec=Codec.LZ4))
    found = fetch(client, topic_id(client, name) if version in BY_ID else name, version=version)
    assert (found.error_code, found.high_watermark, found.last_stable_offset) == (0, 2, 2)
    assert found.log_start_offset == (0 if version >= 5 else -1)
    assert found.aborted_transactions is None
    assert found.preferred_read_replica == -1
    assert values(found.records) == [b"a", b"b"]


@pytest.mark.parametrize("version", [4, 11, 12])
def test_read_committed_has_a_list_of_aborted_transactions(client: Client, version: int) -> None:
    topic = client.new_topic()
    produce(client, topic, batch(b"a"))
    found = fetch(client, topic, version=version, isolation_level=READ_COMMITTED)
    assert (values(found.records), found.aborted_transactions) == ([b"a"], [])
    at_the_end = fetch(client, topic, 1, isolation_level=READ_COMMITTED, max_wait_ms=0)
    assert (at_the_end.last_stable_offset, at_the_end.aborted_transactions) == (1, [])


def test_an_offset_inside_a_batch_brings_the_whole_batch(client: Client) -> None:
    topic = client.new_topic()
    produce(client, topic, batch(b"a", b"b", b"c"))
    produce(client, topic, batch(b"d", b"e", codec=Codec.GZIP))
    for offset, first in ((0, b"a"), (1, b"a"), (2, b"a"), (3, b"d"), (4, b"d")):
        assert values(fetch(client, topic, offset).records)[0] == first


def test_limits_cut_between_batches_but_the_first_always_comes(client: Client) -> None:
    topic = client.new_topic(2)
    for partition in (0, 1):
        for letter in b"abcd":
            produce(client, topic, batch(bytes([letter]) * 1000), partition=partition)
    size = len(batch(b"a" * 1000))

    def counts(max_bytes: int, of_each: int) -> list[int]:
        wanted = {n: {"fetch_offset": 0, "partition_max_bytes": of_each} for n in (0, 1)}
        answer = client.ask(fetch_request({topic: wanted}, max_bytes=max_bytes), 12)
        found = by_partition(answer.responses)
        return [len(values(found[n].records)) for n in (0, 1)]

    assert counts(10 * size, 10 * size) == [4, 4]
    assert counts(10 * size, 2 * size) == [2, 2]
    assert counts(10 * size, 2 * size - 1) == [1, 1]
    assert counts(6 * size, 10 * size) == [4, 2]
    assert counts(1, 1) == [1, 0]
    assert counts(0, 0) == [1, 0]


def test_an_empty_partition_in_front_does_not_take_the_first_place(client: Client) -> None:
    topic = client.new_topic(2)
    produce(client, topic, batch(b"x" * 5000), partition=1)
    answer = client.ask(fetch_request({topic: {0: 0, 1: 0}}, max_bytes=100), 12)
    assert values(by_partition(answer.responses)[1].records) == [b"x" * 5000]


@pytest.mark.parametrize("offset", [-1, 4, 2**62])
def test_offsets_outside_the_log_are_out_of_range(client: Client, offset: int) -> None:
    topic = client.new_topic()
    produce(client, topic, batch(b"a", b"b", b"c"))
    found = fetch(client, topic, offset, max_wait_ms=LONG_MS)
    assert found.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (found.high_watermark, found.log_start_offset, found.records or b"") == (-1, -1, b"")


def test_deleted_records_are_out_of_range(client: Client) -> None:
    topic = client.new_topic()
    produce(client, topic, batch(b"a", b"b", b"c"))
    delete(client, topic, 2)
    assert fetch(client, topic, 1).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    found = fetch(client, topic, 2)
    assert (found.log_start_offset, values(found.records)) == (2, [b"a", b"b", b"c"])


def test_what_does_not_exist_is_told(client: Client) -> None:
    topic = client.new_topic()
    for name, partition in (("no-such-topic", 0), (topic, 7), (topic, -1)):
        found = fetch(client, name, partition=partition, max_wait_ms=LONG_MS)
        assert found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for wrong in (uuid.uuid4(), uuid.UUID(int=0)):
        found = fetch(client, wrong, version=13, max_wait_ms=LONG_MS)
        assert found.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    known = topic_id(client, topic)
    found = fetch(client, known, partition=7, version=13, max_wait_ms=LONG_MS)
    assert found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_client_with_another_leader_epoch_is_told(client: Client) -> None:
    topic = client.new_topic()
    produce(client, topic, batch(b"a"))

    def code(**fields: int) -> int:
        found = fetch(client, topic, {"fetch_offset": 0, **fields}, max_wait_ms=LONG_MS)
        return int(found.error_code)

    assert code(current_leader_epoch=0) == ErrorCode.NONE
    assert code(current_leader_epoch=-1) == ErrorCode.NONE
    assert code(current_leader_epoch=1) == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_a_reader_that_has_more_of_an_epoch_than_the_log_is_told_where_it_ends(
    client: Client,
) -> None:
    topic = client.new_topic()
    produce(client, topic, batch(b"a", b"b"))
    agreed = fetch(client, topic, {"fetch_offset": 2, "last_fetched_epoch": 0}, max_wait_ms=0)
    assert (agreed.error_code, agreed.diverging_epoch) == (ErrorCode.NONE, None)
    beyond = {"fetch_offset": 5, "last_fetched_epoch": 0}
    parted = fetch(client, topic, beyond, max_wait_ms=LONG_MS)
    assert parted.error_code == ErrorCode.NONE
    assert (parted.diverging_epoch.epoch, parted.diverging_epoch.end_offset) == (0, 2)
    assert not parted.records
    unheard_of = {"fetch_offset": 0, "last_fetched_epoch": 3}
    assert fetch(client, topic, unheard_of).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    delete(client, topic, 1)
    gone = fetch(client, topic, {"fetch_offset": 0, "last_fetched_epoch": 0})
    assert gone.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_segments_are_read_one_after_the_other(client: Client) -> None:
    topic = client.new_topic(segment_bytes=1_048_576)
    for n in range(8):
        produce(client, topic, batch(b"%d" % n * 400_000))
    offset, found = 0, []
    while offset < 8:
        records = fetch(client, topic, offset, max_wait_ms=LONG_MS).records
        assert records
        found += values(records)
        offset = len(found)
    assert found == [b"%d" % n * 400_000 for n in range(8)]


def test_what_the_page_cache_has_forgotten_comes_from_the_disk(
    own_broker: Callable[..., OttlaBroker],
) -> None:
    broker = own_broker()
    with closing(Client(broker.bootstrap)) as client:
        topic = client.new_topic(2, segment_bytes=1_048_576)
        for n in range(6):
            for partition in (0, 1):
                produce(client, topic, batch(b"%d" % n * 400_000), partition=partition)
        broker.restart()
    for path in broker.data_dir.glob(f"{topic}-*/*.log"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    with closing(Client(broker.bootstrap)) as client:
        request = fetch_request({topic: {0: 0, 1: 2}})
        found = by_partition(client.ask(request, 12).responses)
        assert values(found[0].records)[0] == b"0" * 400_000
        assert values(found[1].records)[0] == b"2" * 400_000
        wait_for(lambda: len(values(fetch(client, topic, 4).records)) == 2, "the last two")


def test_a_request_that_names_too_much_is_refused_before_it_is_read(client: Client) -> None:
    topic = client.new_topic()
    most = fetch_request({topic: dict.fromkeys(range(50_000), 0)}, max_wait_ms=0)
    assert len(by_partition(client.ask(most, 11).responses)) == 50_000
    too_much = fetch_request({topic: dict.fromkeys(range(200_000), 0)}, max_wait_ms=0)
    with pytest.raises(EOFError):
        client.ask(too_much, 11)
