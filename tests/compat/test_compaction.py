"""Compacted topics: clients read the last value of every key, and write on as if nothing were."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Message
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

from tests.support.broker import OttlaBroker
from tests.support.clients import admin, consume, create_topic, produce, producer
from tests.support.disk import segments_are_below
from tests.support.java import run_java
from tests.support.requirements import requires
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.compat]

SETTINGS = {"log.cleaner.backoff.ms": "50", "log.initial.task.delay.ms": "0"}
COMPACT = {
    "cleanup_policy": "compact",
    "segment_bytes": 1_048_576,
    "min_cleanable_dirty_ratio": "0.01",
    "file_delete_delay_ms": 100,
}
KEYS = 100
UPDATES = 60
VALUE = b"x" * 1000
COMPLAINT = re.compile(
    r"mismatch|out of order|corrupt|isvalid: false|exception|not match", re.IGNORECASE
)

OwnBroker = Callable[..., OttlaBroker]


def updates(count: int = UPDATES, keys: int = KEYS) -> list[dict[str, bytes]]:
    return [
        {"key": b"key-%d" % key, "value": b"%d " % n + VALUE}
        for n in range(count)
        for key in range(keys)
    ]


def wait_until_compacted(broker: OttlaBroker, topic: str, below: int = 2_000_000) -> None:
    """At most the last values, and the active segment, are left."""
    log = broker.data_dir / f"{topic}-0"
    wait_for(lambda: segments_are_below(log, below), f"the compaction of {topic}", 30)


def last_values(messages: list[Message]) -> dict[bytes, bytes]:
    table = {message.key(): message.value() for message in messages}
    return {key: value for key, value in table.items() if value is not None}


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_readers_find_the_last_value_of_every_key(own_broker: OwnBroker, codec: str) -> None:
    broker = own_broker(SETTINGS)
    topic = create_topic(broker.bootstrap, **COMPACT)
    sent = produce(broker.bootstrap, topic, updates(), compression_type=codec, linger_ms=1)
    if codec == "none":
        wait_until_compacted(broker, topic)
    found = consume(broker.bootstrap, topic, check_crcs=True)
    assert last_values(found) == {
        b"key-%d" % n: b"%d " % (UPDATES - 1) + VALUE for n in range(KEYS)
    }
    offsets = {message.offset(): message.key() for message in sent}
    assert all(offsets[message.offset()] == message.key() for message in found)
    assert len(found) < len(sent) or codec != "none"


def test_a_producer_goes_on_through_compaction_and_restarts(own_broker: OwnBroker) -> None:
    broker = own_broker(SETTINGS)
    topic = create_topic(broker.bootstrap, **COMPACT)
    client = producer(broker.bootstrap, enable_idempotence=True)
    failed: list[object] = []
    for restart in (False, True, True):
        for record in updates(20):
            client.produce(topic, **record, on_delivery=lambda e, m: e and failed.append(e))
            client.poll(0)
        assert client.flush(30) == 0
        wait_until_compacted(broker, topic)
        if restart:
            broker.restart()
    assert not failed
    assert len(last_values(consume(broker.bootstrap, topic))) == KEYS


def test_tombstones_take_their_keys_away_for_good(own_broker: OwnBroker) -> None:
    broker = own_broker(SETTINGS)
    topic = create_topic(broker.bootstrap, **COMPACT, delete_retention_ms=0)
    produce(broker.bootstrap, topic, [{"key": b"gone", "value": b"1"}])
    produce(broker.bootstrap, topic, [{"key": b"gone", "value": None}])

    def is_gone() -> bool:
        produce(broker.bootstrap, topic, updates(12))
        return all(message.key() != b"gone" for message in consume(broker.bootstrap, topic))

    wait_for(is_gone, "the tombstone to go", 30)
    assert len(last_values(consume(broker.bootstrap, topic))) == KEYS


def test_the_policy_may_change_while_the_topic_is_in_use(own_broker: OwnBroker) -> None:
    broker = own_broker(SETTINGS)
    topic = create_topic(broker.bootstrap, **COMPACT | {"cleanup_policy": "delete"})
    produce(broker.bootstrap, topic, updates(40))
    assert len(consume(broker.bootstrap, topic)) == 40 * KEYS
    entry = ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource("topic", topic, incremental_configs=[entry])
    client = admin(broker.bootstrap)
    client.incremental_alter_configs([resource])[resource].result(10)
    wait_until_compacted(broker, topic)
    assert len(last_values(consume(broker.bootstrap, topic))) == KEYS


def test_the_cleaner_dies_with_its_broker(own_broker: OwnBroker) -> None:
    slow = {"log.cleaner.io.max.bytes.per.second": "10000"}
    broker = own_broker(SETTINGS | slow)
    topic = create_topic(broker.bootstrap, **COMPACT)
    produce(broker.bootstrap, topic, updates(20))
    children = Path(f"/proc/{broker.pid}/task/{broker.pid}/children")
    [child] = wait_for(lambda: children.read_text().split(), "the cleaner process", 30)
    broker.kill()
    wait_for(lambda: not Path(f"/proc/{child}").exists(), "the end of the cleaner")
    broker.start()
    assert len(consume(broker.bootstrap, topic)) == 20 * KEYS


@pytest.mark.java
@pytest.mark.slow
def test_kafkas_dump_tool_reads_compacted_segments(own_broker: OwnBroker) -> None:
    requires("java", "maven")
    broker = own_broker(SETTINGS)
    topic = create_topic(broker.bootstrap, **COMPACT)
    tombstones = [{"key": b"gone-%d" % n, "value": None} for n in range(10)]
    produce(broker.bootstrap, topic, updates(20), enable_idempotence=True)
    produce(broker.bootstrap, topic, tombstones, compression_type="gzip")
    produce(broker.bootstrap, topic, updates(20), compression_type="lz4", batch_num_messages=7)
    produce(broker.bootstrap, topic, updates(20))
    wait_until_compacted(broker, topic)
    broker.stop()
    suffixes = (".log", ".index", ".timeindex", ".snapshot")
    directory = broker.data_dir / f"{topic}-0"
    files = [str(path) for path in sorted(directory.iterdir()) if path.suffix in suffixes]
    output = run_java(
        "org.apache.kafka.tools.DumpLogSegments",
        *("--deep-iteration", "--print-data-log", "--files", ",".join(files)),
    )
    assert not COMPLAINT.search(output), COMPLAINT.search(output)
    assert "deleteHorizonMs: OptionalLong[" in output
