"""What a task tells the driver of its part of a batch, so that the driver can commit all parts as one."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark.sql.datasource import WriterCommitMessage

from ottla.pipeline.writing import Slot

NO_GENERATION: Final = -1


@dataclass(frozen=True)
class Claim:
    """Under which name a task writes: a batch of a sink, and the run that writes it."""

    sink_id: str
    run_id: str
    batch: int
    query_id: str = ""
    """The stream that writes: of another one, a batch of the same number is another batch."""
    ephemeral: bool = False
    skip_older: bool = False
    """Whether a batch below the last committed one was written already, and is no mistake."""
    checkpoint: str | None = None
    """Where the stream keeps its offsets; None if it cannot be begun again from there."""
    generation: int = NO_GENERATION
    """Known of an ephemeral sink, which only the driver opens: a task must not bring back one that is over."""


@dataclass(frozen=True)
class PartMessage(WriterCommitMessage):
    """What became of one part; without a slot, it had no rows, or was skipped, or counts at once."""

    claim: Claim | None
    rows: int
    generation: int = NO_GENERATION
    slot: Slot | None = None
    skipped: bool = False


def write_stage(path: Path, messages: list[PartMessage]) -> None:
    """Leave the messages of a frame for whoever commits it together with others."""
    path.write_bytes(pickle.dumps(messages))


def read_stage(path: Path) -> list[PartMessage]:
    """The messages of a frame; the file is this driver's own."""
    messages: list[PartMessage] = pickle.loads(path.read_bytes())
    return messages
