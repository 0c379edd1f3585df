"""Sinks with one promise taken out, which the kill tests must notice; nothing of them is in the product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from ottla.pipeline import sink, sink_steps
from ottla.pipeline.sink import StreamSink
from ottla.pipeline.sink_commit import commit_parts
from ottla.pipeline.sink_message import Claim
from ottla.pipeline.source import OttlaSource

COMMIT_PER_TASK = "commit-per-task"
NO_LEDGER = "no-ledger"


class CommitPerTask(StreamSink):
    """Each task commits its own part as soon as it is written."""

    def write(self, iterator: Iterator[Any]) -> Any:
        """Write and commit one part."""
        name = str(uuid4())
        message = sink._written(iterator, self._work, Claim(name, name, 0, ephemeral=True))
        commit_parts(self._work.settings, [message], "", self._work.timeout_ms)
        sink_steps.reached(sink_steps.PART_COMMITTED, self._options.sink_id or "")
        return replace(message, claim=None, slot=None)


class NoLedger(StreamSink):
    """What earlier runs have committed is not asked for."""

    def write(self, iterator: Iterator[Any]) -> Any:
        """Write one part under a name that only this run has."""
        claim = sink._streaming_claim(self._options, None)
        mine = replace(claim, sink_id=f"{claim.sink_id}-{claim.run_id}")
        return sink._written(iterator, self._work, mine)

    def commit(self, messages: list[WriterCommitMessage | None], batch_id: int) -> None:
        """Commit, and come to the step under the name that all runs have."""
        super().commit(messages, batch_id)
        sink_steps.reached(sink_steps.AFTER_COMMIT, self._options.sink_id or "")


class PerTaskSource(OttlaSource):
    """The data source with a sink that commits each task."""

    @classmethod
    def name(cls) -> str:
        """The word for `format`."""
        return COMMIT_PER_TASK

    def streamWriter(self, schema: StructType, overwrite: bool) -> CommitPerTask:  # noqa: N802
        """The mutant."""
        return _mutated(CommitPerTask, self, schema)


class NoLedgerSource(OttlaSource):
    """The data source with a sink that remembers nothing."""

    @classmethod
    def name(cls) -> str:
        """The word for `format`."""
        return NO_LEDGER

    def streamWriter(self, schema: StructType, overwrite: bool) -> NoLedger:  # noqa: N802
        """The mutant."""
        return _mutated(NoLedger, self, schema)


def _mutated(kind: type[Any], source: OttlaSource, schema: StructType) -> Any:
    made = sink.stream_sink(dict(source.options), schema)
    made.__class__ = kind
    return made


MUTANTS = {each.name(): each for each in (PerTaskSource, NoLedgerSource)}
