"""`ottla sinks abort`: ends what a sink has open, so that readers need not wait for its time-out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.moments import counted
from ottla.cli.output import Report, add_output_argument
from ottla.cli.questions import add_yes_argument, confirmed
from ottla.cli.sink_names import find_sink

if TYPE_CHECKING:
    from ottla.client.admin import Admin

EXAMPLES = """examples:
  ottla sinks abort clicks
  ottla sinks abort clicks --yes
A job that still runs writes the batch again. What was committed stays.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which sink."""
    parser.add_argument("sink", metavar="SINK")
    add_yes_argument(parser)
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Abort it."""
    return ask(arguments, lambda admin: _abort(admin, arguments))


async def _abort(admin: Admin, arguments: argparse.Namespace) -> int:
    found = await find_sink(admin, arguments.sink)
    slots = counted(len(found.slots), "open slot")
    if not confirmed(arguments, f"abort {slots} of {found.sink_id}"):
        return 1
    await admin.abort_sink(found.sink_id)
    with Report(arguments.output) as report:
        report.tell(f"aborted {slots} of {found.sink_id}", sink=found.sink_id, aborted=True)
    return 0
