"""`ottla groups history`: what became of a group and its offsets lately, oldest first."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.names import history_of
from ottla.cli.output import add_output_argument, show
from ottla.inspection.group_history import moves_of
from ottla.inspection.human_units import iso

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ottla.protocol.apis.describe_group_history import GroupCommits, GroupHistory

EXAMPLES = """examples:
  ottla groups history billing
  ottla groups history billing --offsets
  ottla groups history billing -n 20 -o json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which group, and how much."""
    parser.add_argument("group", metavar="GROUP")
    parser.add_argument("--offsets", action="store_true", help="only what happened to offsets")
    parser.add_argument("-n", "--number", type=int, metavar="N", help="only the newest N entries")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    history = ask(arguments, lambda admin: history_of(admin, arguments.group))
    rows = sorted(_entries(history, arguments.offsets), key=lambda row: row["time"])
    if arguments.number is not None:
        rows = rows[max(0, len(rows) - arguments.number) :]
    show(rows, arguments.output, nothing=f"nothing is known of group {arguments.group}")
    return 0


def _entries(history: GroupHistory, offsets_alone: bool) -> Iterator[dict[str, Any]]:
    yield from map(_commit, history.commits)
    if offsets_alone:
        return
    for event in history.events:
        yield _row(event.timestamp_ms, event.what, event.member_id, event.detail)
    for each in history.generations:
        clients = ",".join(sorted({owner.client_id for owner in each.owners})) or "nobody"
        detail = f"generation {each.generation}: {clients}"
        yield _row(each.timestamp_ms, "assigned", "", detail)


def _commit(commits: GroupCommits) -> dict[str, Any]:
    moved = "; ".join(
        f"{at} {_shown(before)} -> {_shown(after)}"
        for at, (before, after) in sorted(moves_of(commits).items())
    )
    times = f" ({commits.count} times)" if commits.count > 1 else ""
    what = commits.action if commits.only_forward else f"{commits.action}, moved back"
    who = commits.client_id or commits.member_id
    return _row(commits.last_ms, what, who, moved + times)


def _row(timestamp_ms: int, what: str, who: str, detail: str) -> dict[str, Any]:
    return {"time": iso(timestamp_ms), "what": what, "who": who or None, "detail": detail}


def _shown(offset: int) -> str:
    return "none" if offset < 0 else str(offset)
