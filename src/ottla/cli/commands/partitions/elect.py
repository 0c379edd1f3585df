"""`ottla partitions elect`: preferred leaders lead again; or, accepting a loss, the furthest replica that is there."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.output import Report, add_output_argument, show
from ottla.cli.parsing import complain
from ottla.cli.questions import add_yes_argument, confirmed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ottla.client.admin import Admin
    from ottla.client.administration.replicas import ReplicaDescription

EXAMPLES = """examples:
  ottla partitions elect                               # preferred leaders lead again, everywhere
  ottla partitions elect --unclean --dry-run           # what the replicas of partitions without a leader hold
  ottla partitions elect --unclean orders-3 --yes      # the furthest one leads; what others hold beyond it is lost
A partition without a leader waits for brokers that may hold records which are nowhere else (`ottla doctor` names them).
Start those first. An unclean election takes the furthest replica that is there, and cuts the others to it.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which partitions, and how."""
    parser.add_argument("partitions", nargs="*", metavar="TOPIC-PARTITION", type=_partition)
    parser.add_argument(
        "--unclean",
        action="store_true",
        help="a leader for partitions without one, even if records are lost",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="with --unclean: show how far each replica is, and elect nobody",
    )
    add_yes_argument(parser)
    add_output_argument(parser)
    add_broker_arguments(parser)


def _partition(text: str) -> TopicPartition:
    topic, dash, index = text.rpartition("-")
    if not (topic and dash and index.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text}: write it as TOPIC-PARTITION, such as orders-3")
    return TopicPartition(topic, int(index))


def run(arguments: argparse.Namespace) -> int:
    """Elect, or show what would be elected."""
    if arguments.dry_run and not arguments.unclean:
        complain(f"{arguments.parser.prog}: --dry-run is for unclean elections; add --unclean")
        return 2
    if arguments.dry_run:
        return ask(arguments, lambda admin: _show(admin, arguments))
    return ask(arguments, lambda admin: _elect(admin, arguments))


async def _show(admin: Admin, arguments: argparse.Namespace) -> int:
    found = await admin.describe_replicas(arguments.partitions or None)
    show(_rows(found.items()), arguments.output, nothing="every partition has a leader")
    return 0


def _rows(
    found: Iterable[tuple[TopicPartition, tuple[ReplicaDescription, ...]]],
) -> list[dict[str, Any]]:
    rows = []
    for tp, replicas in found:
        ends = {each.broker_id: _end(each) for each in replicas}
        furthest = max(replicas, key=lambda each: ends[each.broker_id]) if replicas else None
        for each in replicas:
            is_known = each.end_offset is not None
            rows.append(
                {
                    "topic": tp.topic,
                    "partition": tp.partition,
                    "broker": each.broker_id,
                    "present": each.is_registered,
                    "last_epoch": each.last_epoch if is_known else "unknown",
                    "end": each.end_offset if is_known else "unknown",
                    "last_seen": None if each.is_registered else _time(each.registered_ms),
                    "would_lead": is_known and each is furthest,
                }
            )
    return rows


def _end(replica: ReplicaDescription) -> tuple[int, int]:
    if replica.last_epoch is None or replica.end_offset is None:
        return -2, -2
    return replica.last_epoch, replica.end_offset


def _time(registered_ms: int | None) -> str:
    """When a broker that is away came last; when it went, nobody writes down."""
    if registered_ms is None:
        return "never"
    came = datetime.fromtimestamp(registered_ms / 1000, UTC)
    return f"started {came:%Y-%m-%d %H:%M:%S} UTC"


async def _elect(admin: Admin, arguments: argparse.Namespace) -> int:
    wanted = arguments.partitions or None
    which = ", ".join(map(str, wanted)) if wanted else "all partitions without a leader"
    deed = f"let the furthest replica lead {which}, and lose what only others hold"
    if arguments.unclean and not confirmed(arguments, deed):
        return 1
    results = await admin.elect_leaders(int(arguments.unclean), wanted)
    failed = False
    with Report(arguments.output) as report:
        for tp, outcome in results.items():
            error = str(outcome) if isinstance(outcome, ApiError) else None
            failed |= error is not None
            report.tell(
                f"{tp}: {error or 'a leader was elected'}",
                topic=tp.topic,
                partition=tp.partition,
                error=error,
            )
        if not results and arguments.output == "table":
            print("no partition needs another leader")
    return int(failed)
