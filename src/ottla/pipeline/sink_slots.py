"""Exactly once on Apache Kafka: each task commits its part by itself, and with it that this batch is done.

Part p of a sink writes in transactions of its own name, in which it also commits the number of the batch as an offset
of a group of that name. A batch that is repeated finds which of its parts are there. That holds only if its rows are
the same and in the same parts again, and a batch that failed can be read in part until it is repeated: on ottla, a
transaction group needs no such condition, and shows all or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import pyarrow as pa

from ottla.base.errors import OttlaError
from ottla.base.ids import TopicPartition
from ottla.client.commits import Commits
from ottla.client.membership import Standing
from ottla.client.positions import OffsetAndMetadata
from ottla.pipeline import sink_steps
from ottla.pipeline.sink_message import Claim, PartMessage
from ottla.pipeline.sink_task import send_rows
from ottla.pipeline.sink_work import Work
from ottla.pipeline.writing import TaskProducer
from ottla.pipeline.writing_link import Link, link_to


class Ledger(NamedTuple):
    """What a part remembers: its last batch, of which query, and in how many parts batches come."""

    batch: int
    query_id: str
    slots: int

    def offset(self) -> OffsetAndMetadata:
        """The ledger as the offset of a group; the next batch, as offsets name the next record."""
        return OffsetAndMetadata(self.batch + 1, metadata=f"{self.slots} {self.query_id}")

    @classmethod
    def read(cls, found: OffsetAndMetadata) -> Ledger:
        """The ledger that an offset holds."""
        slots, _, query_id = found.metadata.partition(" ")
        return cls(found.offset - 1, query_id, int(slots))


def write_slot(
    batches: Iterable[pa.RecordBatch], work: Work, claim: Claim, partition: int
) -> PartMessage:
    """Write one part of a batch, unless it is written already."""
    assert work.slots is not None
    if partition >= work.slots:
        raise OttlaError(
            f"there is a task {partition}, though slots={work.slots} was promised: repartition the frame to "
            f"{work.slots} right before it is written"
        )
    left = iter(batches)
    first = next((batch for batch in left if batch.num_rows), None)
    if first is None:
        return PartMessage(None, 0)
    rows = chain((first,), left)
    name, mine = f"{claim.sink_id}-{partition}", Ledger(claim.batch, claim.query_id, work.slots)
    link = link_to(replace(work.settings, transaction_timeout_ms=work.timeout_ms))
    # It fences off an earlier attempt before the ledger is read: what that has not committed by now it never will.
    with TaskProducer(link, None, name) as producer:
        topic = TopicPartition(_topic(work), 0)
        if is_written(_ledger(link, name, topic), mine, claim):
            return PartMessage(None, sum(batch.num_rows for batch in rows), skipped=True)
        producer.begin()
        count = send_rows(rows, work, producer, transactional=True)
        producer.commit(name, {topic: mine.offset()})
    sink_steps.reached(sink_steps.PART_COMMITTED, claim.sink_id)
    return PartMessage(None, count)


def is_written(last: Ledger | None, mine: Ledger, claim: Claim) -> bool:
    """Whether a part is there already; OttlaError if nobody could tell."""
    if last is None:
        return False
    if last.slots != mine.slots:
        raise OttlaError(
            f"sink {claim.sink_id} was begun with slots={last.slots}, and goes on with that, not with "
            f"{mine.slots}; another number needs another sinkId (or txnAppId)"
        )
    if mine.batch > last.batch:
        return False
    if claim.skip_older or mine == last:
        return True
    raise OttlaError(
        f"batch {mine.batch} of sink {claim.sink_id} comes from a checkpoint that is behind the sink, which has "
        f"batch {last.batch} of query {last.query_id}: the checkpoint was deleted or restored; begin with another "
        "sinkId to write again what may be there already"
    )


def _ledger(link: Link, name: str, topic: TopicPartition) -> Ledger | None:
    # An offset whose transaction is being ended right now is waited for.
    found = link.run(Commits(link.cluster, lambda: Standing(name)).committed([topic]))[topic]
    return None if found is None else Ledger.read(found)


def _topic(work: Work) -> str:
    assert work.columns.topic is not None
    return work.columns.topic
