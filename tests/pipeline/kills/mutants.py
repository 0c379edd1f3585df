"""Sinks with one promise taken out, which the kill tests must notice; nothing of them is in the product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

from pyspark.sql.types import StructType

from ottla.pipeline import sink
from ottla.pipeline.sink import StreamSink
from ottla.pipeline.sink_commit import commit_parts
from ottla.pipeline.sink_message import Claim
from ottla.pipeline.source import OttlaSource


class CommitPerTask(StreamSink):
    """Each task commits its own part as soon as it is written."""

    def write(self, iterator: Iterator[Any]) -> Any:
        """Write and commit one part."""
        name = str(uuid4())
        claim = Claim(name, name, 0, ephemeral=True)
        message = sink._written(iterator, self._work, claim)
        commit_parts(self._work.settings, [message], "", self._work.timeout_ms)
        return replace(message, claim=None, slot=None)


class NoLedger(StreamSink):
    """What earlier runs have committed is not asked for."""

    def write(self, iterator: Iterator[Any]) -> Any:
        """Write one part under a name that only this run has."""
        claim = sink._streaming_claim(None)
        mine = replace(claim, sink_id=f"{claim.sink_id}-{claim.run_id}")
        return sink._written(iterator, self._work, mine)


class PerTaskSource(OttlaSource):
    """The data source with a sink that commits each task."""

    @classmethod
    def name(cls) -> str:
        """The word for `format`."""
        return "commit-per-task"

    def streamWriter(self, schema: StructType, overwrite: bool) -> CommitPerTask:  # noqa: N802
        """The mutant."""
        return _mutated(CommitPerTask, self, schema)


class NoLedgerSource(OttlaSource):
    """The data source with a sink that remembers nothing."""

    @classmethod
    def name(cls) -> str:
        """The word for `format`."""
        return "no-ledger"

    def streamWriter(self, schema: StructType, overwrite: bool) -> NoLedger:  # noqa: N802
        """The mutant."""
        return _mutated(NoLedger, self, schema)


def _mutated(kind: type[Any], source: OttlaSource, schema: StructType) -> Any:
    made = sink.stream_sink(dict(source.options), schema)
    made.__class__ = kind
    return made


MUTANTS = {each.name(): each for each in (PerTaskSource, NoLedgerSource)}
