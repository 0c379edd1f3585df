"""kafka-dump-log prints, of Kafka's files and of ours, byte for byte what Kafka's own tool prints."""

import shutil
from pathlib import Path

import pytest

from tests.golden.conftest import Served
from tests.golden.transcript import run
from tests.support.clients import consume, consumer, create_named, producer
from tests.support.requirements import requires

pytestmark = pytest.mark.java

DUMP = "org.apache.kafka.tools.DumpLogSegments"
TOPIC = "dumped"
FIRST = "00000000000000000000"


@pytest.fixture(scope="module", params=["ottla", "kafka"])
def logs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the logs of a broker, after some life."""
    requires("java", "maven")
    served: Served = request.getfixturevalue(f"{request.param}_served")
    write_a_bit_of_everything(served.bootstrap)
    copied = tmp_path_factory.mktemp("dumped") / "logs"
    shutil.copytree(served.logs, copied)
    return copied


def write_a_bit_of_everything(bootstrap: str) -> None:
    create_named(bootstrap, TOPIC)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        client = producer(bootstrap, **{"compression.type": codec, "linger.ms": 50})
        client.produce(TOPIC, f"{codec} é".encode() * 20, headers=[("h1", b"v"), ("h2", None)])
        client.produce(TOPIC, None, key=b"\xff\xfe gone")
        assert client.flush(20) == 0
    client = producer(bootstrap, **{"transactional.id": "dumped", "enable.idempotence": True})
    client.init_transactions(20)
    for end in (client.commit_transaction, client.abort_transaction):
        client.begin_transaction()
        client.produce(TOPIC, b"in a transaction")
        client.flush(20)
        end(20)
    for protocol in ("classic", "consumer"):
        reader = consumer(
            bootstrap,
            **{"group.id": f"{protocol}-group", "group.protocol": protocol},
            **{"auto.offset.reset": "earliest"},
        )
        reader.subscribe([TOPIC])
        reader.commit(message=reader.poll(20), asynchronous=False)
        reader.close()
    assert consume(bootstrap, TOPIC)


def kafkas(*words: str) -> tuple[str, int]:
    from tools.apache_kafka import run_tool

    done = run_tool(DUMP, words)
    return done.stdout, done.returncode


def assert_same(*words: str) -> str:
    """Both tools print the same; what they printed."""
    ours = run("kafka-dump-log", *words)
    assert (ours.stdout, ours.code) == kafkas(*words)
    return ours.stdout


def test_batches_records_and_indexes(logs: Path) -> None:
    files = [path for path in sorted((logs / f"{TOPIC}-0").iterdir()) if path.suffix]
    shown = assert_same("--files", ",".join(map(str, files)), "--print-data-log")
    assert "payload: in a transaction" in shown
    assert "endTxnMarker: ABORT" in shown
    assert "compresscodec: zstd" in shown


def test_records_alone_and_batches_alone(logs: Path) -> None:
    log = str(logs / f"{TOPIC}-0" / f"{FIRST}.log")
    assert "payload" not in assert_same("--files", log, "--deep-iteration")
    assert_same("--files", log, "--print-data-log", "--skip-record-metadata", "--max-bytes", "900")


def test_committed_offsets_and_groups(logs: Path) -> None:
    written = [
        str(path) for path in logs.glob(f"__consumer_offsets-*/{FIRST}.log") if path.stat().st_size
    ]
    shown = assert_same("--files", ",".join(written), "--offsets-decoder")
    assert '"group":"classic-group","topic":"dumped","partition":0' in shown
    assert '"groupId":"consumer-group","memberId":' in shown
    assert "<DELETE>" in shown


def test_transactions(logs: Path) -> None:
    written = [
        str(path) for path in logs.glob(f"__transaction_state-*/{FIRST}.log") if path.stat().st_size
    ]
    shown = assert_same("--files", ",".join(written), "--transaction-log-decoder")
    assert '"transactionalId":"dumped"' in shown
    assert '"transactionPartitions":[{"topic":"dumped","partitionIds":[0]}]' in shown


def test_a_torn_log_and_indexes_are_checked(logs: Path, tmp_path: Path) -> None:
    torn = tmp_path / f"{FIRST}.log"
    torn.write_bytes((logs / f"{TOPIC}-0" / torn.name).read_bytes()[:-10])
    assert "invalid bytes at the end" in assert_same("--files", str(torn))
