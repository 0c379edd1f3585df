"""Files on disk: Kafka's tool reads ours without complaint, and ottla reads Kafka's."""

import random
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import AGAINST
from tests.support.broker import OttlaBroker
from tests.support.clients import consume, create_named, create_topic, produce
from tests.support.java import run_java
from tests.support.requirements import requires
from tools.java import SHORT_LIVED

pytestmark = [pytest.mark.compat, pytest.mark.java, pytest.mark.slow]

DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"
COMPLAINT = re.compile(
    r"mismatch|out of order|corrupt|isvalid: false|exception|not match", re.IGNORECASE
)
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
RECORDS_PER_CODEC = 80


class Stoppable(NamedTuple):
    """A broker whose files can be looked at once it has stopped."""

    bootstrap: str
    log_dir: Path
    stop: Callable[[], object]


@pytest.fixture
def stoppable(tmp_path: Path) -> Iterator[Stoppable]:
    """A broker of the kind under test, with files of its own."""
    requires("java", "maven")
    from tools.apache_kafka import ApacheKafka

    if AGAINST == "ottla":
        with OttlaBroker(tmp_path / "data") as broker:
            yield Stoppable(broker.bootstrap, broker.data_dir, broker.stop)
    else:
        with ApacheKafka(tmp_path / "kafka", heap_mb=512, jvm_options=SHORT_LIVED) as kafka:
            yield Stoppable(kafka.bootstrap, kafka.data_dir / "logs", kafka.stop)


def write_all_sorts(bootstrap: str, topic: str) -> int:
    """Every codec, in several segments, with headers, nulls and producers; returns the count."""
    stamp = int(time.time() * 1000)
    for codec in CODECS:
        records = [
            {
                "key": b"key-%d" % n if n % 3 else None,
                "value": random.Random(n).randbytes(15_000) if n % 7 else None,
                "headers": [("n", b"%d" % n)],
                "timestamp": stamp + n,
            }
            for n in range(RECORDS_PER_CODEC)
        ]
        produce(
            bootstrap,
            topic,
            records,
            compression_type=codec,
            enable_idempotence=codec in ("none", "zstd"),
            batch_num_messages=5,
        )
    return RECORDS_PER_CODEC * len(CODECS)


@pytest.mark.parametrize("timestamp_type", ["CreateTime", "LogAppendTime"])
def test_kafkas_dump_tool_has_no_complaint(stoppable: Stoppable, timestamp_type: str) -> None:
    topic = create_topic(
        stoppable.bootstrap, segment_bytes=1_048_576, message_timestamp_type=timestamp_type
    )
    count = write_all_sorts(stoppable.bootstrap, topic)
    stoppable.stop()
    files = [
        path
        for path in sorted((stoppable.log_dir / f"{topic}-0").iterdir())
        if path.suffix in (".log", ".index", ".timeindex", ".snapshot")
    ]
    assert sum(path.suffix == ".log" for path in files) > 1, "only one segment was written"
    listed = ",".join(map(str, files))
    output = run_java(DUMP_LOG, "--deep-iteration", "--print-data-log", "--files", listed)
    assert not COMPLAINT.search(output), COMPLAINT.search(output)
    assert len(re.findall(r"^\| offset: \d+ ", output, re.MULTILINE)) == count
    assert f"lastOffset: {count - 1} " in output


def test_a_partition_written_by_kafka_opens_with_every_record(
    ottla_only: None, tmp_path: Path
) -> None:
    requires("java", "maven")
    from tools.apache_kafka import ApacheKafka

    with ApacheKafka(tmp_path / "kafka", heap_mb=512, jvm_options=SHORT_LIVED) as kafka:
        create_named(kafka.bootstrap, "moved", config={"segment.bytes": "1048576"})
        write_all_sorts(kafka.bootstrap, "moved")
        expected = [(m.offset(), m.key(), m.value()) for m in consume(kafka.bootstrap, "moved")]
    with OttlaBroker(tmp_path / "ottla") as broker:
        create_named(broker.bootstrap, "moved")
        broker.stop()
        replace_files(tmp_path / "kafka" / "logs" / "moved-0", broker.data_dir / "moved-0")
        broker.start()
        found = consume(broker.bootstrap, "moved", check_crcs=True)
        assert [(m.offset(), m.key(), m.value()) for m in found] == expected
        [more] = produce(broker.bootstrap, "moved", [b"more"])
        assert more.offset() == len(expected)


def replace_files(source: Path, destination: Path) -> None:
    """Put Kafka's files in the place of ours, but for the file that names the topic's id."""
    for path in destination.iterdir():
        if path.name != "partition.metadata":
            path.unlink()
    for path in source.iterdir():
        if path.name != "partition.metadata":
            shutil.copy(path, destination)
