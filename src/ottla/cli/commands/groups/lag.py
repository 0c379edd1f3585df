"""`ottla groups lag`: how far behind, how fast, and when it has caught up."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from typing import TYPE_CHECKING, Any

from ottla.base.progress import is_terminal
from ottla.cli.commands.groups.describe import partition_row
from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.names import find_group
from ottla.cli.output import add_output_argument, show
from ottla.cli.pace import Pace
from ottla.cli.parsing import UsageError
from ottla.cli.time_arguments import duration_ms
from ottla.inspection.group_progress import Reading, readings
from ottla.inspection.human_units import counted, iso

if TYPE_CHECKING:
    from ottla.client.admin import Admin

EXAMPLES = """examples:
  ottla groups lag billing
  ottla groups lag billing --watch
  ottla groups lag billing --watch --every 10s --times 6 -o ndjson
"""
_CLEAR = "\x1b[H\x1b[2J"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which group, and whether to go on looking."""
    parser.add_argument("group", metavar="GROUP")
    parser.add_argument("-w", "--watch", action="store_true", help="go on until Ctrl-C")
    parser.add_argument(
        "--every", type=duration_ms, default=2000, metavar="TIME", help="look this often (2s)"
    )
    parser.add_argument("--times", type=int, metavar="N", help="look so often, then end")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print it once, or again and again."""
    if arguments.times is not None and not arguments.watch:
        raise UsageError("--times is of use with --watch alone")
    ask(
        arguments,
        lambda admin: _watch(admin, arguments) if arguments.watch else _once(admin, arguments),
    )
    return 0


async def _once(admin: Admin, arguments: argparse.Namespace) -> None:
    found = await readings(admin, await find_group(admin, arguments.group))
    nothing = f"group {arguments.group} has committed nothing and reads nothing"
    show([partition_row(each) for each in found], arguments.output, nothing=nothing)
    if arguments.output == "table" and found:
        print(f"\n{counted(sum(each.lag or 0 for each in found), 'record')} behind in all")


async def _watch(admin: Admin, arguments: argparse.Namespace) -> None:
    """A first look has no rates: they need two."""
    paces: dict[str, Pace] = {}
    looks = 0
    while True:
        found = await readings(admin, await find_group(admin, arguments.group))
        rows = _topics(found, paces, time.monotonic())
        now = iso(round(time.time() * 1000))
        if arguments.output == "table":
            _draw(arguments.group, now, rows)
        else:
            show([{"time": now, **row} for row in rows], arguments.output)
        sys.stdout.flush()
        looks += 1
        if arguments.times is not None and looks >= arguments.times:
            return
        await asyncio.sleep(arguments.every / 1000)


def _topics(found: list[Reading], paces: dict[str, Pace], now_s: float) -> list[dict[str, Any]]:
    rows = []
    for topic in sorted({each.at.topic for each in found}):
        known = [each for each in found if each.at.topic == topic and each.lag is not None]
        ends = sum(each.span.end for each in known if each.span)
        pace = paces.setdefault(topic, Pace())
        pace.look(now_s, sum(each.committed or 0 for each in known), ends)
        rows.append(
            {
                "topic": topic,
                "lag": sum(each.lag or 0 for each in known),
                "read_per_s": pace.read_per_s,
                "written_per_s": pace.written_per_s,
                "caught_up_in": pace.caught_up_in,
            }
        )
    return rows


def _draw(group: str, now: str, rows: list[dict[str, Any]]) -> None:
    if is_terminal(sys.stdout):
        print(_CLEAR, end="")
    print(f"{group} at {now}")
    show(rows, "table", nothing=f"group {group} has committed nothing and reads nothing")
