"""Commands whose work is not part of this version: each says so, and what does the work until then."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.cli.kafka.command import complain

_ZOOKEEPER = "this version of ottla keeps its metadata by itself and runs without ZooKeeper"
_CONNECT = "this version of ottla has no Connect runtime yet"


def zookeeper_shell(argv: Sequence[str] | None = None) -> int:
    """Run zookeeper-shell; the exit code."""
    return _refuse(
        "zookeeper-shell", f"{_ZOOKEEPER}; kafka-topics and kafka-configs show what it holds."
    )


def zookeeper_server_start(argv: Sequence[str] | None = None) -> int:
    """Run zookeeper-server-start; the exit code."""
    return _refuse("zookeeper-server-start", f"{_ZOOKEEPER}; `ottla up` starts all that is needed.")


def zookeeper_server_stop(argv: Sequence[str] | None = None) -> int:
    """Run zookeeper-server-stop; the exit code."""
    return _refuse("zookeeper-server-stop", f"{_ZOOKEEPER}; there is nothing to stop.")


def connect_standalone(argv: Sequence[str] | None = None) -> int:
    """Run connect-standalone; the exit code."""
    return _refuse("connect-standalone", f"{_CONNECT}; Apache Kafka's works with ottla's brokers.")


def connect_distributed(argv: Sequence[str] | None = None) -> int:
    """Run connect-distributed; the exit code."""
    return _refuse("connect-distributed", f"{_CONNECT}; Apache Kafka's works with ottla's brokers.")


def streams_application_reset(argv: Sequence[str] | None = None) -> int:
    """Run kafka-streams-application-reset; the exit code."""
    return _refuse(
        "kafka-streams-application-reset",
        "this version of ottla cannot do it in one step yet; kafka-consumer-groups "
        "--reset-offsets puts the application's group back, kafka-topics --delete removes its "
        "internal topics.",
    )


def _refuse(name: str, why: str) -> int:
    complain(f"{name}: {why}")
    return 1
