"""A broker has only so many transactions open, whatever partitions their coordinators are: who comes late waits."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from ottla.coordination.routing import partition_for
from tests.compat.test_transactions import COMMITTED, UNCOMMITTED, transactional, values, write
from tests.support.broker import OttlaBroker
from tests.support.clients import create_topic, unique_name
from tests.support.requirements import requires
from tests.support.waiting import wait_for

pytestmark = pytest.mark.compat

PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"
STATE_PARTITIONS = 5
SETTINGS = {
    "ottla.max.open.transactions": "2",
    "transaction.state.log.num.partitions": str(STATE_PARTITIONS),
}
TIMEOUT_S = 30.0
IN_VAIN_S = 0.5


@pytest.fixture
def limited(own_broker: Callable[..., OttlaBroker]) -> str:
    """The address of a broker that takes two at once."""
    return own_broker(SETTINGS).bootstrap


def elsewhere() -> Iterator[str]:
    """Transactional ids, each of another partition of the coordinators' topic, and so of another shard."""
    seen: set[int] = set()
    while len(seen) < STATE_PARTITIONS:
        name = unique_name("tx")
        if (partition := partition_for(name, STATE_PARTITIONS)) not in seen:
            seen.add(partition)
            yield name


def begun(bootstrap: str, name: str, topic: str, value: bytes) -> Producer:
    """A producer whose transaction is open."""
    client = transactional(bootstrap, name)
    client.begin_transaction()
    write(client, topic, value)
    return client


@pytest.mark.parametrize("outcome", ["commit_transaction", "abort_transaction"])
def test_the_next_producer_waits_until_one_has_ended(limited: str, outcome: str) -> None:
    topic, names = create_topic(limited, partitions=2), elsewhere()
    first, second = (begun(limited, next(names), topic, value) for value in (b"1", b"2"))
    late = transactional(limited, next(names), retry_backoff_ms=10)
    late.begin_transaction()
    late.produce(topic, b"late", partition=0)
    assert late.flush(IN_VAIN_S) == 1
    write(second, topic, b"inside", partition=1)  # who is inside goes on
    assert values(limited, topic, **UNCOMMITTED) == [b"1", b"2"]
    getattr(first, outcome)(TIMEOUT_S)
    assert late.flush(TIMEOUT_S) == 0
    for client in (second, late):
        client.commit_transaction(TIMEOUT_S)
    kept = [b"1"] if outcome == "commit_transaction" else []
    assert values(limited, topic, **COMMITTED) == [*kept, b"2", b"late"]
    assert values(limited, topic, 1, **COMMITTED) == [b"inside"]


@contextmanager
def java_producer(bootstrap: str, name: str, topic: str, log: Path) -> Iterator[subprocess.Popen]:
    """Kafka's own, which writes ten records in a transaction; its warnings go to the log."""
    from tools.apache_kafka import TOOL_JVM_OPTIONS, java_command

    options = [
        *("--bootstrap-server", bootstrap, "--topic", topic, "--transactional-id", name),
        *("--num-records", "10", "--record-size", "10", "--throughput", "-1"),
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(
            java_command(TOOL_JVM_OPTIONS, PRODUCER_PERFORMANCE, options),
            stdout=output,
            stderr=output,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait(TIMEOUT_S)


@pytest.mark.java
def test_a_java_producer_waits_as_well(limited: str, tmp_path: Path) -> None:
    requires("java", "maven")
    topic, names, log = create_topic(limited), elsewhere(), tmp_path / "java.log"
    first, second = (begun(limited, next(names), topic, value) for value in (b"1", b"2"))
    with java_producer(limited, next(names), topic, log) as java:
        # It adds partitions by writing to them, and says that it was told to come back.
        wait_for(lambda: "CONCURRENT_TRANSACTIONS" in log.read_text(), "a refusal", TIMEOUT_S)
        assert values(limited, topic, **UNCOMMITTED) == [b"1", b"2"]
        assert java.poll() is None
        first.commit_transaction(TIMEOUT_S)
        assert java.wait(TIMEOUT_S) == 0, log.read_text()
    second.abort_transaction(TIMEOUT_S)
    found = values(limited, topic, **COMMITTED)
    assert (len(found), found[0]) == (11, b"1")
