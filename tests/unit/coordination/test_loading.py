"""A log with records that nobody can read: they are passed over and named, everything else is served."""

import asyncio
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.errors import CorruptLog, ProtocolError
from ottla.base.ids import TopicPartition
from ottla.config.groups import GroupsConfig
from ottla.config.log import LogConfig
from ottla.coordination.decision import KeyValue, UnknownRecord
from ottla.coordination.groups import consumer_records, offset_records, records
from ottla.coordination.groups.shard import GroupShard
from ottla.coordination.groups.topics import Topics
from ottla.coordination.loading import load
from ottla.coordination.routing import partition_for
from ottla.coordination.transactions.records import encode_key
from ottla.protocol.apis.list_groups import ListGroupsRequest
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.batch import parse_header
from ottla.protocol.records.builder import build_batch
from ottla.protocol.records.record import Record
from ottla.storage.log import Log
from tests.support.broker import OttlaBroker
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import NOW_MS, Client
from tests.unit.broker.handlers.group_offsets import (
    commit,
    fetch,
    fetch_group,
    new_group,
    wait_until_coordinated,
)
from tests.unit.broker.handlers.transacting import Transactor
from tests.unit.coordination.transactions.desk import Desk

PARTITIONS = 2
LAST = 699
SETTINGS = {
    "offsets.topic.num.partitions": str(PARTITIONS),
    "transaction.state.log.num.partitions": str(PARTITIONS),
}
COMMITTED = offset_records.Committed(7)
GROUP_KEY = records.group_record("shoppers", None)[0]
OFFSET_KEY = offset_records.encode_key("shoppers", "orders", 0)
MEMBER_KEY = consumer_records.tombstone(consumer_records.Kind.MEMBER, "shoppers", "m")[0]
DAMAGED: list[KeyValue] = [
    (b"", b"no kind"),
    (b"\0\x7f a kind of the future", b""),
    (GROUP_KEY, b"\x7f\0 a version of the future"),
    (GROUP_KEY[:-3], b"\0\3"),
    (OFFSET_KEY, b""),
    (OFFSET_KEY[:9], offset_records.encode_value(COMMITTED)),
    (MEMBER_KEY, b"\0\0\xff\xff\xff\xff"),
]


def open_log(directory: Path) -> Log:
    topic, _, partition = directory.name.rpartition("-")
    return Log.open(
        str(directory),
        TopicPartition(topic, int(partition)),
        LogConfig(cleanup_policy=frozenset({"compact"})),
        topic_id=uuid.uuid4(),
        clean_shutdown=True,
        now_ms=NOW_MS,
    )


def append(log: Log, found: list[KeyValue]) -> int:
    batch = build_batch([Record(0, NOW_MS, key, value) for key, value in found])
    return log.append(batch, parse_header(batch), 0, NOW_MS).base_offset


def group_shard() -> GroupShard:
    return GroupShard(GroupsConfig(), Topics())


def places_of(caplog: pytest.LogCaptureFixture, event: str) -> list[tuple[object, ...]]:
    pairs = [vars(line)["ottla_pairs"] for line in caplog.records if line.message == event]
    return [(each["topic"], each["partition"], each["offset"]) for each in pairs]


def test_damaged_records_take_nothing_else_with_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    position = OFFSET_KEY, offset_records.encode_value(COMMITTED)
    with closing(open_log(tmp_path / "__consumer_offsets-3")) as log:
        append(log, [*DAMAGED, position])
        shard = group_shard()
        asyncio.run(load(shard, log, lambda: True))
    assert shard.offsets.find("shoppers", "orders", 0)
    assert list(shard.groups) == ["shoppers"]
    told = places_of(caplog, "damaged record passed over")
    # The kind of the future, at offset 1, is not damaged but unknown.
    assert told == [("__consumer_offsets", 3, offset) for offset in (0, 2, 3, 4, 5, 6)]
    assert sum("unknown kind" in line for line in caplog.messages) == 1


def test_a_batch_that_cannot_be_unpacked_is_passed_over_whole(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(open_log(tmp_path / "__consumer_offsets-3")) as log:
        torn = build_batch([Record(0, NOW_MS, OFFSET_KEY, b"whatever")])
        torn[-4:] = b"\x7f\x7f\x7f\x7f"
        log.append(torn, parse_header(torn), 0, NOW_MS)
        append(log, [(OFFSET_KEY, offset_records.encode_value(COMMITTED))])
        shard = group_shard()
        asyncio.run(load(shard, log, lambda: True))
    assert shard.offsets.find("shoppers", "orders", 0)
    assert places_of(caplog, "damaged record passed over") == [("__consumer_offsets", 3, 0)]


def test_a_log_that_cannot_be_read_says_where(tmp_path: Path) -> None:
    with closing(open_log(tmp_path / "__consumer_offsets-3")) as log:
        append(log, [(OFFSET_KEY, offset_records.encode_value(COMMITTED))])
        path = Path(log.segments[0].path)
        path.write_bytes(b"\xff" * path.stat().st_size)
        with pytest.raises(CorruptLog, match=r"__consumer_offsets-3.* 0"):
            asyncio.run(load(group_shard(), log, lambda: True))


def test_groups_come_back_from_a_log_with_a_damaged_record(
    own_broker: Callable[..., OttlaBroker],
) -> None:
    broker = own_broker(SETTINGS)
    with closing(Client(broker.bootstrap)) as client:
        topic, group = client.new_topic(), new_group(client)
        commit(client, group, topic, {0: 5})
    broker.stop()
    index = partition_for(group, PARTITIONS)
    with closing(open_log(broker.data_dir / f"__consumer_offsets-{index}")) as log:
        first = append(log, DAMAGED)
    broker.start()
    with closing(Client(broker.bootstrap)) as client:
        wait_until_coordinated(client, group)
        assert fetch(client, group, topic, [0])[0].offset == 5
        commit(client, group, topic, {0: 6})
    assert f"topic=__consumer_offsets partition={index} offset={first}" in broker.log


def test_a_partition_that_cannot_be_read_is_tried_again(
    own_broker: Callable[..., OttlaBroker],
) -> None:
    broker = own_broker(SETTINGS)
    with closing(Client(broker.bootstrap)) as client:
        topic, group = client.new_topic(), new_group(client)
        for offset in range(LAST + 1):  # so many that a clean start does not look at the first
            commit(client, group, topic, {0: offset})
    broker.stop()
    index = partition_for(group, PARTITIONS)
    [path] = (broker.data_dir / f"__consumer_offsets-{index}").glob("*.log")
    good = path.read_bytes()
    path.write_bytes(b"\xff" * 100 + good[100:])
    broker.start()
    with closing(Client(broker.bootstrap)) as client:
        why = ErrorCode.COORDINATOR_NOT_AVAILABLE
        wait_for(lambda: fetch_group(client, group, None).error_code == why, "the refusal")
        assert "coordinator cannot be loaded" in broker.log
        assert client.ask(ListGroupsRequest()).error_code == 0
        with path.open("r+b") as file:
            file.write(good)
        wait_until_coordinated(client, group)
        assert fetch(client, group, topic, [0])[0].offset == LAST


def test_transactions_come_back_from_a_log_with_a_damaged_record(
    own_broker: Callable[..., OttlaBroker],
) -> None:
    broker = own_broker(SETTINGS)
    with closing(Client(broker.bootstrap)) as client:
        before = Transactor(client, "payments")
    broker.stop()
    index = partition_for("payments", PARTITIONS)
    with closing(open_log(broker.data_dir / f"__transaction_state-{index}")) as log:
        first = append(log, [(encode_key("payments"), b"\0\1\0"), (b"\0\5unknown", b"")])
    broker.start()
    with closing(Client(broker.bootstrap)) as client:
        after = Transactor(client, "payments")
        assert (after.producer_id, after.epoch) == (before.producer_id, before.epoch + 1)
    assert f"topic=__transaction_state partition={index} offset={first}" in broker.log


KEYS = st.sampled_from([OFFSET_KEY, GROUP_KEY, MEMBER_KEY, encode_key("payments"), b""])
MANGLED = st.builds(
    lambda key, cut, tail: key[:cut] + tail, KEYS, st.integers(0, 30), st.binary(max_size=40)
)


@given(MANGLED, st.none() | st.binary(max_size=80))
def test_whatever_bytes_a_record_has_they_are_read_or_refused(
    key: bytes, value: bytes | None
) -> None:
    for shard in (group_shard(), Desk().shard):
        try:
            shard.replay(key, value, None)
        except UnknownRecord:
            assert len(key) >= 2
        except ProtocolError:
            continue
        shard.loaded(NOW_MS)
        shard.tick(NOW_MS)
