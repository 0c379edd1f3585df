"""Pure: what is remembered of a sink, and the rules of its transaction groups.

A sink is what a job writes its batches to. A run of the job opens it and gets a generation; tasks open slots, each with
a producer and a transaction of its own; one decision commits the slots that count and aborts all others. The ledger,
the batch that was committed last, tells a batch that comes again from a new one. Each function takes what is remembered
and a request, and gives what follows; ApiError says why not.
"""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256
from typing import Final, NamedTuple

from ottla.base.errors import ApiError
from ottla.base.units import DAY_MS, MINUTE_MS
from ottla.coordination.transactions.state import Producer
from ottla.protocol.errors import ErrorCode

NO_BATCH: Final = -1
NO_RUN: Final = ""
MAX_TIMEOUT_MS: Final = DAY_MS
MAX_ID_LENGTH: Final = 249
MAX_DIGEST_LENGTH: Final = 1_000
MAX_SLOTS: Final = 10_000
MAX_SHARED_PRODUCERS: Final = 1_000
NOBODY: Final = ""
_RETIRED_RUNS: Final = 128
_MARK_LENGTH: Final = 12

ANSWER_KEPT_MS: Final = 2 * MINUTE_MS
"""For how long, at least, an ephemeral sink is remembered after its commit: whoever lost the answer asks again."""

UNUSED_KEPT_MS: Final = DAY_MS
"""For how long an ephemeral sink without a slot waits for its first: a job may compute for long before it writes."""


class Sink(NamedTuple):
    """All that is remembered of a sink, apart from its slots and its free producers."""

    run_id: str
    """The run that may write; NO_RUN for a sink that was reset, or is over."""
    generation: int
    timeout_ms: int
    ephemeral: bool
    updated_ms: int
    retired_runs: tuple[str, ...] = ()
    """The marks of runs that were replaced, newest first; one older than all of these would be taken for a new one."""
    committed_batch: int = NO_BATCH
    committed_digest: str = ""
    committed_group: bytes = b""
    """Tells whether a group is the one that was committed."""

    @property
    def is_closed(self) -> bool:
        """Whether nobody may write until a new run opens it."""
        return self.run_id == NO_RUN


class Slot(NamedTuple):
    """What tells a slot from all others: a task attempt's part of a batch."""

    sink_id: str
    generation: int
    batch: int
    partition: int
    attempt: int


class Member(NamedTuple):
    """A slot as a group names it."""

    transactional_id: str
    producer: Producer


class Group(NamedTuple):
    """A batch of a sink, and the slots that are to count."""

    sink_id: str
    generation: int
    batch: int
    digest: str
    members: Collection[Member]


class Opened(NamedTuple):
    """What a run is told of the sink that it opens."""

    generation: int
    committed_batch: int
    committed_digest: str


def owner_of_producers(sink_id: str, found: Sink) -> str:
    """Whose next slots get the producers that a sink's slots have left; those of ephemeral sinks are for all of them.

    Else each write would leave its producers behind in every partition, until producer.id.expiration.ms has passed.
    """
    return NOBODY if found.ephemeral else sink_id


def check_names(sink_id: str, run_id: str, timeout_ms: int) -> None:
    """Refuse what cannot be remembered, or would hold back readers for too long."""
    for what, name in (("sink id", sink_id), ("run id", run_id)):
        if not 0 < len(name) <= MAX_ID_LENGTH:
            raise ApiError(
                ErrorCode.INVALID_REQUEST, f"a {what} has 1 to {MAX_ID_LENGTH} characters"
            )
    if not 0 < timeout_ms <= MAX_TIMEOUT_MS:
        raise ApiError(
            ErrorCode.INVALID_TRANSACTION_TIMEOUT,
            f"{timeout_ms} ms is not within 1 to {MAX_TIMEOUT_MS}",
        )


def open_for(
    found: Sink | None, run_id: str, timeout_ms: int, ephemeral: bool, now_ms: int
) -> Sink | None:
    """A new run takes over, and fences all before it; None if it is the current one already."""
    if found is None:
        return Sink(run_id, 1, timeout_ms, ephemeral, now_ms)
    if run_id == found.run_id:
        return None
    if run_mark(run_id) in found.retired_runs:
        raise ApiError(ErrorCode.SINK_FENCED, f"another run has taken over from {run_id!r}")
    return close(found, now_ms)._replace(run_id=run_id, timeout_ms=timeout_ms, ephemeral=ephemeral)


def run_mark(run_id: str) -> str:
    """By what a run is remembered: ids are long, and each record of a sink has those of many runs."""
    return sha256(run_id.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK_LENGTH]


def close(found: Sink, now_ms: int) -> Sink:
    """The current run may write no more; the next generation keeps its tasks out, too."""
    retired = found.retired_runs
    if not found.is_closed:
        retired = (run_mark(found.run_id), *retired)[:_RETIRED_RUNS]
    return found._replace(
        run_id=NO_RUN, generation=found.generation + 1, retired_runs=retired, updated_ms=now_ms
    )


def reset(found: Sink, now_ms: int) -> Sink:
    """Forget what was committed; the generation stays, so that nobody of the time before is let in again."""
    return close(found, now_ms)._replace(
        committed_batch=NO_BATCH, committed_digest="", committed_group=b""
    )


def commit(found: Sink, group: Group, now_ms: int) -> Sink:
    """The ledger moves to the batch."""
    return found._replace(
        committed_batch=group.batch,
        committed_digest=group.digest,
        committed_group=group_digest(group.members),
        updated_ms=now_ms,
    )


def current(found: Sink | None, generation: int) -> Sink:
    """The sink, for its current generation alone."""
    if found is None or found.is_closed or found.generation != generation:
        now = "not open" if found is None or found.is_closed else f"at {found.generation}"
        raise ApiError(
            ErrorCode.SINK_FENCED, f"generation {generation} may not write: the sink is {now}"
        )
    return found


def check_batch(found: Sink, batch: int) -> None:
    """Refuse slots of a batch that was committed before."""
    if batch < 0:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"there is no batch {batch}")
    if batch == found.committed_batch:
        raise ApiError(ErrorCode.SINK_ALREADY_COMMITTED, f"batch {batch} is committed")
    check_not_behind(found, batch)


def check_not_behind(found: Sink, batch: int) -> None:
    """Refuse a batch that is older than the ledger's: what became of it is not known any more."""
    if batch < found.committed_batch:
        raise ApiError(
            ErrorCode.CHECKPOINT_BEHIND_SINK,
            f"batch {batch} is behind batch {found.committed_batch}, which the sink has committed;"
            " if that is meant, 'ottla sinks reset' makes it forget",
        )


def check_digest(digest: str) -> None:
    """Refuse what is too long to be remembered."""
    if len(digest) > MAX_DIGEST_LENGTH:
        raise ApiError(
            ErrorCode.INVALID_REQUEST, f"a digest has at most {MAX_DIGEST_LENGTH} characters"
        )


def was_committed(found: Sink | None, group: Group) -> bool:
    """Whether the very group was committed, and its answer lost: true also of a run that was fenced since."""
    return (
        found is not None
        and bool(group.members)
        and found.committed_batch == group.batch
        and found.committed_digest == group.digest
        and found.committed_group == group_digest(group.members)
    )


def check_replayed(found: Sink, group: Group) -> None:
    """The last batch once more: no error if it was skipped, else what is wrong with it."""
    if group.digest != found.committed_digest:
        raise ApiError(
            ErrorCode.SINK_BATCH_DIFFERS,
            f"batch {group.batch} was committed with other contents: {found.committed_digest!r} and not"
            f" {group.digest!r}; if that is meant, 'ottla sinks reset' makes the sink forget",
        )
    if group.members:
        raise ApiError(ErrorCode.SINK_ALREADY_COMMITTED, f"batch {group.batch} is committed")


def group_digest(members: Collection[Member]) -> bytes:
    """Tells one set of slots from any other; nothing for none."""
    if not members:
        return b""
    lines = (f"{name} {producer_id} {epoch}" for name, (producer_id, epoch) in sorted(members))
    return sha256("\n".join(lines).encode("utf-8", "surrogatepass")).digest()


def kept_until_ms(found: Sink, touched_ms: int, expiration_ms: int) -> int | None:
    """When a sink without slots is forgotten; None for the ledger of a stream, which stays until it is reset."""
    if found.ephemeral and found.is_closed:
        return found.updated_ms
    if found.is_closed:
        return found.updated_ms + expiration_ms
    if not found.ephemeral:
        return None
    if found.committed_batch != NO_BATCH:
        # A driver asks for its answer until its time-out, also while there is no coordinator.
        kept_ms = max(found.timeout_ms, ANSWER_KEPT_MS)
        return max(found.updated_ms, touched_ms) + kept_ms
    return touched_ms + max(found.timeout_ms, UNUSED_KEPT_MS)
