"""`ottla sinks abort`: ends what a sink has open, so that readers need not wait for its time-out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ottla.cli.connect import ask
from ottla.cli.output import Report
from ottla.cli.questions import confirmed
from ottla.cli.sink_names import add_sink_arguments, find_sink
from ottla.inspection.human_units import counted

if TYPE_CHECKING:
    from ottla.client.admin import Admin

EXAMPLES = """examples:
  ottla sinks abort clicks
  ottla sinks abort clicks --yes
A job that still runs writes the batch again. What was committed stays.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which sink."""
    add_sink_arguments(parser)


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
