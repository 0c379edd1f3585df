"""`ottla sinks reset`: a sink forgets what it has committed, so that a job may write its batches again."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ottla.cli.connect import ask
from ottla.cli.output import Report
from ottla.cli.questions import confirmed
from ottla.cli.sink_names import add_sink_arguments, find_sink

if TYPE_CHECKING:
    from ottla.client.admin import Admin

EXAMPLES = """examples:
  ottla sinks reset clicks
  ottla sinks reset clicks --yes
For a job that begins with a new checkpoint, or with one from a backup: batches that were committed before are then
written once more. A job that still runs is shut out and has to be started again.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which sink."""
    add_sink_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Make it forget."""
    return ask(arguments, lambda admin: _reset(admin, arguments))


async def _reset(admin: Admin, arguments: argparse.Namespace) -> int:
    found = await find_sink(admin, arguments.sink)
    batch = found.committed_batch
    ledger = f"batch {batch}" if batch >= 0 else "nothing"
    deed = f"make {found.sink_id} forget that it has committed {ledger}"
    if not confirmed(arguments, deed):
        return 1
    await admin.reset_sink(found.sink_id)
    with Report(arguments.output) as report:
        report.tell(
            f"{found.sink_id} has forgotten that it had committed {ledger}",
            sink=found.sink_id,
            forgotten_batch=batch if batch >= 0 else None,
        )
    return 0
