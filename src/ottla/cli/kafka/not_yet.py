"""Commands whose work is not part of this version: each says so, and what does the work until then."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.cli.kafka.command import complain

_CONNECT = "this version of ottla has no Connect runtime yet"


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
