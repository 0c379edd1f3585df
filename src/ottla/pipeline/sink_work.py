"""What a write consists of, as the driver and its tasks both see it, and the generation in which it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ottla.base.errors import OttlaError
from ottla.client.producer_settings import ProducerSettings
from ottla.pipeline.sink_message import NO_GENERATION, Claim, PartMessage
from ottla.pipeline.sink_schema import SinkColumns
from ottla.pipeline.txn_groups import TxnGroups
from ottla.pipeline.writing_link import Link

_MOST_REMEMBERED: Final = 1_000
_generations: Final[dict[tuple[int, str, str], int]] = {}


@dataclass(frozen=True)
class Work:
    """What all tasks of a write have in common."""

    settings: ProducerSettings
    columns: SinkColumns
    timeout_ms: int
    slots: int | None = None
    """How many tasks there are, where each commits its part by itself: on Apache Kafka."""


@dataclass(frozen=True)
class Attempt:
    """Which task of a job this is, and which attempt at it."""

    partition: int
    attempt: int


def check_parts(parts: Sequence[PartMessage], work: Work) -> None:
    """Whether a batch came in as many parts as was promised; OttlaError says what to do if not."""
    # Of a batch without rows Spark makes as many tasks as it likes.
    rows = sum(part.rows for part in parts)
    if work.slots is not None and rows and len(parts) != work.slots:
        raise OttlaError(
            f"the batch came in {len(parts)} tasks, though slots={work.slots} was promised: repartition the frame "
            f"to {work.slots} right before it is written, and begin with another sinkId (or txnAppId)"
        )


def generation_of(link: Link, claim: Claim, timeout_ms: int) -> int:
    """The generation of the claim's run; asked for once in a process, unless the driver has told it."""
    if claim.generation != NO_GENERATION:
        return claim.generation
    key = (id(link), claim.sink_id, claim.run_id)
    found = _generations.get(key)
    if found is None:
        if len(_generations) >= _MOST_REMEMBERED:
            _generations.clear()
        opened = TxnGroups(link.cluster).open_sink(
            claim.sink_id, claim.run_id, timeout_ms=timeout_ms, ephemeral=claim.ephemeral
        )
        found = _generations[key] = link.run(opened).generation
    return found
