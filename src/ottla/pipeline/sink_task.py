"""What one task does: find out whether its part is needed, write it, and tell the driver how.

A task never ends its transaction. While it gets on, the coordinator hears from it, so that a slow task is not taken for
a lost one; of one that hangs it hears nothing once the time-out has passed, and gives the batch up after another.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Final

import pyarrow as pa

from ottla.base.errors import ApiError, OttlaError
from ottla.base.log import logger
from ottla.pipeline import sink_steps
from ottla.pipeline.encoding import encode
from ottla.pipeline.sink_message import Claim, PartMessage
from ottla.pipeline.sink_rows import Router, chunks, prepared
from ottla.pipeline.sink_work import Attempt, Work, generation_of
from ottla.pipeline.txn_groups import TxnGroups
from ottla.pipeline.worker_memory import keep_memory
from ottla.pipeline.worker_settling import settles
from ottla.pipeline.writing import Slot, TaskProducer
from ottla.pipeline.writing_link import Link, link_to
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.compression import Codec

log = logger(__name__)

SIGNS_PER_TIMEOUT: Final = 10


class _Progress:
    """When a task last got on: it was given rows, or a broker has written some."""

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_s = timeout_ms / 1000
        self.note()

    def note(self) -> None:
        """Now."""
        self._noted_s = time.monotonic()

    def of(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches, each of them noted."""
        for batch in batches:
            self.note()
            yield batch

    @property
    def hangs(self) -> bool:
        """Whether nothing was noted for as long as the time-out."""
        return time.monotonic() - self._noted_s > self._timeout_s


@settles
def write_part(
    batches: Iterable[pa.RecordBatch], work: Work, claim: Claim | None, attempt: Attempt
) -> PartMessage:
    """Write what a task was given; with a claim exactly once, without one at least once."""
    keep_memory()
    link = link_to(work.settings)
    progress = _Progress(work.timeout_ms)
    left = progress.of(batches)
    if claim is None:
        return PartMessage(None, _write(left, work, link, None, progress))
    groups = TxnGroups(link.cluster)

    def run_lives() -> Awaitable[object]:
        return groups.keep_alive(
            claim.sink_id, claim.run_id, timeout_ms=work.timeout_ms, ephemeral=claim.ephemeral
        )

    # What other tasks have written must not be given up while this one waits for its first row.
    with _signs_of_life(link, work, progress, run_lives):
        first = next((batch for batch in left if batch.num_rows), None)
    if first is None:
        return PartMessage(claim, 0)
    return _write_once(chain((first,), left), work, link, claim, attempt, progress)


def _write_once(
    rows: Iterable[pa.RecordBatch],
    work: Work,
    link: Link,
    claim: Claim,
    attempt: Attempt,
    progress: _Progress,
) -> PartMessage:
    groups = TxnGroups(link.cluster)
    try:
        generation = generation_of(link, claim, work.timeout_ms)
        sink_steps.reached(sink_steps.SINK_OPENED, claim.sink_id)
        which = (claim.sink_id, generation, claim.batch, attempt.partition, attempt.attempt)
        slot = link.run(groups.open_slot(*which))
    except ApiError as error:
        if not _written_already(error, claim):
            raise
        return _skipped(rows, claim)
    sink_steps.reached(sink_steps.SLOT_OPENED, claim.sink_id)
    with _signs_of_life(link, work, progress, lambda: groups.open_slot(*which)):
        count = _write(rows, work, link, slot, progress, claim.sink_id)
    sink_steps.reached(sink_steps.PART_WRITTEN, claim.sink_id)
    return PartMessage(claim, count, generation, slot)


def _written_already(error: ApiError, claim: Claim) -> bool:
    if error.code == ErrorCode.SINK_ALREADY_COMMITTED:
        return True
    return claim.skip_older and error.code == ErrorCode.CHECKPOINT_BEHIND_SINK


def _skipped(rows: Iterable[pa.RecordBatch], claim: Claim) -> PartMessage:
    # Stateful operators in front of the sink commit only what was drawn from them.
    count = sum(batch.num_rows for batch in rows)
    sink_steps.reached(sink_steps.PART_SKIPPED, claim.sink_id)
    return PartMessage(claim, count, skipped=True)


def _write(
    rows: Iterable[pa.RecordBatch],
    work: Work,
    link: Link,
    slot: Slot | None,
    progress: _Progress,
    sink_id: str = "",
) -> int:
    with TaskProducer(link, slot, on_written=progress.note) as producer:
        return send_rows(rows, work, producer, sink_id, transactional=slot is not None)


def send_rows(
    rows: Iterable[pa.RecordBatch],
    work: Work,
    producer: TaskProducer,
    sink_id: str = "",
    *,
    transactional: bool,
) -> int:
    """Write rows to the partitions that they belong to; returns once all are written, and how many there were."""
    settings = work.settings
    codec, level = Codec[settings.compression_type.upper()], settings.compression_level
    most = min(settings.batch_size, settings.max_request_size)
    count = 0
    ignore_keys = settings.partitioner_ignore_keys
    router = Router(work.columns, producer.partitions, ignore_keys=ignore_keys)
    for chunk in chunks(rows):
        written = prepared(chunk, work.columns)
        for target, which in router.routes(chunk, written):
            made = encode(
                written,
                which,
                codec,
                level,
                None,
                transactional,
                most,
                max_record_bytes=settings.max_request_size,
            )
            for each in made:
                producer.send(target, each.bytes, each.count)
        if not count:
            sink_steps.reached(sink_steps.FIRST_SENT, sink_id)
        count += chunk.num_rows
    producer.flush()
    return count


@contextmanager
def _signs_of_life(
    link: Link, work: Work, progress: _Progress, sign: Callable[[], Awaitable[object]]
) -> Iterator[None]:
    async def signs() -> None:
        while True:
            await asyncio.sleep(work.timeout_ms / SIGNS_PER_TIMEOUT / 1000)
            if progress.hangs:
                continue  # that the process lives is no sign that the batch will ever end
            try:
                await sign()
            except OttlaError as error:
                # Whether the batch is lost is for the producer and the commit to find out.
                log.warning("no sign of life reached the coordinator", why=error)

    async def begin() -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(signs())

    task = link.run(begin())
    try:
        yield
    finally:
        link.thread.call(task.cancel)
