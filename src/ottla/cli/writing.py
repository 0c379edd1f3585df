"""Writes records for commands: in bulk, with progress, and with the place where it failed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from ottla.base.errors import ApiError, OttlaError
from ottla.base.progress import Progress, short_count
from ottla.cli.connect import ask, assignments, client_settings, known_to
from ottla.cli.names import find_topic
from ottla.cli.output import show_one
from ottla.cli.parsing import complain
from ottla.client.producer import Producer
from ottla.client.producer_settings import ProducerSettings
from ottla.inspection.human_units import counted, short_duration

if TYPE_CHECKING:
    from ottla.inspection.record_json import NewRecord

_SETTINGS: Final[dict[str, Any]] = {"batch.size": "131072", "linger.ms": "5"}


class Writer:
    """A producer for one topic that notices the first failure."""

    def __init__(self, arguments: argparse.Namespace, total: int | None) -> None:
        self._topic = arguments.topic
        self.partitions = len(
            ask(arguments, lambda admin: find_topic(admin, self._topic)).partitions
        )
        own = assignments(arguments.client_settings, "-X")
        settings = known_to(ProducerSettings, client_settings(arguments), *own)
        self._producer = Producer({**_SETTINGS, **settings})
        self._progress = Progress("records", total)
        self._failed: tuple[str, Exception] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._producer.close()
        self._progress.close()

    def write(self, record: NewRecord, where: str) -> None:
        """Send a record; `where` is its place in the input."""
        if self._failed is not None:
            self.check()
        if record.partition is not None and record.partition >= self.partitions:
            raise OttlaError(
                f"{where} is for partition {record.partition}, which topic {self._topic} does not have; "
                f"`ottla topics alter {self._topic} --partitions {record.partition + 1}` adds it"
            )

        def delivered(metadata: object, error: Exception | None) -> None:
            if error is not None and self._failed is None:
                self._failed = (where, error)

        try:
            self._producer.send(
                self._topic,
                record.value,
                record.key,
                partition=record.partition,
                timestamp_ms=record.timestamp_ms,
                headers=record.headers,
                on_delivery=delivered,
            )
        except ApiError as refused:
            raise OttlaError(f"{where}: {refused}") from None
        self._progress.advance()

    def check(self) -> None:
        """Raise what became of the first record that was refused."""
        if self._failed is not None:
            where, error = self._failed
            raise OttlaError(f"{where}: {error}")

    def finish(self, output: str) -> None:
        """Wait until everything is written, and tell how long it took."""
        self._producer.flush()
        self._progress.close()
        self.check()
        count, took_s = self._progress.count, self._progress.elapsed_s
        if output != "table":
            show_one({"topic": self._topic, "records": count, "seconds": round(took_s, 3)}, output)
            return
        rate = f", {short_count(count / took_s)}/s" if count and took_s else ""
        complain(
            f"wrote {counted(count, 'record')} to {self._topic} in {short_duration(took_s)}{rate}"
        )


def lines_of(path: str | None) -> Iterable[bytes]:
    """The lines of a file, or of what is typed or piped in, without their ends."""
    if path is None or path == "-":
        if sys.stdin.isatty():
            complain("each line is a record; Ctrl-D ends")
        yield from (line.rstrip(b"\r\n") for line in sys.stdin.buffer)
        return
    with open(path, "rb") as file:
        yield from (line.rstrip(b"\r\n") for line in file)


def count_lines(path: str | None) -> int | None:
    """How many there are; None where that cannot be known."""
    if path is None or path == "-":
        return None
    with open(path, "rb") as file:
        return sum(1 for _ in file)
