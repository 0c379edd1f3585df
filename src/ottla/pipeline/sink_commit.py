"""The driver's part: all parts of a batch count at once, or none of them does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ottla.base.errors import ApiError, OttlaError
from ottla.base.log import logger
from ottla.client.producer_settings import ProducerSettings
from ottla.pipeline import sink_steps
from ottla.pipeline.sink_message import NO_GENERATION, Claim, PartMessage
from ottla.pipeline.sink_work import generation_of
from ottla.pipeline.txn_groups import TxnGroups
from ottla.pipeline.writing_link import link_to
from ottla.protocol.apis.describe_sinks import DescribedSink
from ottla.protocol.errors import ErrorCode

log = logger(__name__)

_ABORT_TIMEOUT_MS = 10_000


def claim_of(messages: Sequence[PartMessage]) -> Claim | None:
    """Under which name the parts were written; None at least once."""
    return next((message.claim for message in messages if message.claim is not None), None)


def commit_parts(
    settings: ProducerSettings,
    messages: Sequence[PartMessage],
    digest: str,
    timeout_ms: int,
    *,
    claim: Claim | None = None,
) -> None:
    """Make the parts count; returns once that is certain, raises if it cannot be.

    `claim` is theirs, also if there is no part.
    """
    claim = claim or claim_of(messages)
    if claim is None:
        return  # at least once: what was written counts already
    link = link_to(settings)
    generation = newest_generation(messages)
    if generation == NO_GENERATION:
        generation = generation_of(link, claim, timeout_ms)
    slots = [message.slot for message in messages if message.slot is not None]
    which = (claim.sink_id, generation, claim.batch, digest, slots)
    sink_steps.reached(sink_steps.BEFORE_COMMIT, claim.sink_id)
    try:
        link.run(TxnGroups(link.cluster).commit(*which, timeout_ms=timeout_ms))
    except ApiError as error:
        older = error.code == ErrorCode.CHECKPOINT_BEHIND_SINK
        if slots or not (older and claim.skip_older):
            raise _explained(error, claim.sink_id, claim.batch) from error
    sink_steps.reached(sink_steps.AFTER_COMMIT, claim.sink_id)


def abort_parts(settings: ProducerSettings, claim: Claim | None, generation: int) -> None:
    """Give up what a failed batch has written; where that fails, the next run or the time-out does it."""
    if claim is None:
        return
    if generation == NO_GENERATION:
        generation = claim.generation
    if generation == NO_GENERATION:
        # Opening the sink to learn the generation would take it from the run that has it.
        _abort_run(settings, claim.sink_id, lambda sink: sink.run_id == claim.run_id)
        return
    link = link_to(settings)
    with _abort_may_fail(claim.sink_id):
        groups = TxnGroups(link.cluster)
        link.run(groups.abort(claim.sink_id, generation, timeout_ms=_ABORT_TIMEOUT_MS))


def run_of(run_id: str, driver: str) -> str:
    """The name of a run that also tells its driver."""
    return f"{run_id}@{driver}"


def abort_unheard(settings: ProducerSettings, sink_id: str, driver: str, batch: int) -> None:
    """Give up a stream's batch of which no task told anything, if it is open, and of a run of this driver.

    Another driver may have taken over from this one, and may be writing the same batch.
    """

    def is_mine(sink: DescribedSink) -> bool:
        written = any(slot.batch == batch for slot in sink.slots)
        return written and sink.run_id.endswith(run_of("", driver))

    _abort_run(settings, sink_id, is_mine)


def _abort_run(
    settings: ProducerSettings, sink_id: str, is_mine: Callable[[DescribedSink], bool]
) -> None:
    """Give up what the current run of a sink has open, if that run is the caller's."""
    link = link_to(settings)
    groups = TxnGroups(link.cluster)
    with _abort_may_fail(sink_id):
        try:
            found = link.run(groups.describe(sink_id))
        except ApiError as error:
            if error.code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                return  # no task opened it
            raise
        if is_mine(found):
            link.run(groups.abort(sink_id, found.generation, timeout_ms=_ABORT_TIMEOUT_MS))


@contextmanager
def _abort_may_fail(sink_id: str) -> Iterator[None]:
    try:
        yield
    except OttlaError as error:
        log.warning("a failed batch was not aborted at once", sink=sink_id, why=error)


def newest_generation(messages: Sequence[PartMessage]) -> int:
    """The generation in which parts were written, NO_GENERATION if none was."""
    return max((message.generation for message in messages), default=NO_GENERATION)


def _explained(error: ApiError, sink_id: str, batch: int) -> ApiError:
    return ApiError(error.code, f"batch {batch} of sink {sink_id} was not committed: {error}")
