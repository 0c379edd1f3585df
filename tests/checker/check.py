"""Pure: the table of all checks, and the verdict on a history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from tests.checker import (
    cluster,
    compaction,
    groups,
    pipelines,
    polls,
    replicas,
    transactions,
    watermarks,
    writes,
)
from tests.checker.anomaly import Anomaly
from tests.checker.evidence import Evidence
from tests.checker.expectations import Expectations
from tests.checker.history import Operation
from tests.checker.report import Report


class Check(NamedTuple):
    """One row of the specification."""

    row: str
    find: Callable[[Evidence], Iterator[Anomaly]]


CHECKS: Final = (
    Check("1", writes.inconsistent_offsets),
    Check("2", writes.duplicate),
    Check("3", writes.lost_write),
    Check("4", writes.unseen),
    Check("5", transactions.aborted_read),
    Check("6", transactions.precommitted_read),
    Check("7", transactions.torn_transaction),
    Check("8", polls.order_within_poll),
    Check("9", polls.order_between_polls),
    Check("10", writes.nonmonotonic_send),
    Check("11", writes.interleaved_sends),
    Check("12", transactions.circular_information_flow),
    Check("13", polls.realtime_lag),
    Check("phantom", writes.phantom),
    Check("X1", pipelines.exactly_once_copy),
    Check("X2", pipelines.money),
    Check("X3", groups.committed_offset),
    Check("X3", groups.stale_commit),
    Check("X4", watermarks.watermark_order),
    Check("X4", watermarks.watermark_monotone),
    Check("X5", replicas.replica_identity),
    Check("X6", replicas.leader_rotation),
    Check("X7", cluster.single_controller),
    Check("X8", cluster.believed_zombie),
    Check("X9", compaction.compaction),
    Check("X10", cluster.progress),
)


def check(operations: Iterable[Operation], expectations: Expectations | None = None) -> Report:
    """Everything that the history shows to be wrong."""
    return judge(Evidence(operations, expectations))


def judge(evidence: Evidence) -> Report:
    """The same, of a history that was looked through already."""
    found = [anomaly for row in CHECKS for anomaly in row.find(evidence)]
    return Report(evidence.operations, found, polls.worst_lag(evidence))
