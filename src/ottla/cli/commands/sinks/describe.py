"""`ottla sinks describe`: where a sink stands, and which tasks write to it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.output import add_output_argument, show, show_one
from ottla.cli.sink_names import find_sink
from ottla.inspection.human_units import iso, short_duration

if TYPE_CHECKING:
    from ottla.client.administration.sinks import SinkDescription

EXAMPLES = """examples:
  ottla sinks describe clicks
  ottla sinks describe clicks -o json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which one."""
    parser.add_argument("sink", metavar="SINK")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print it, and the slots that are open."""
    found = ask(arguments, lambda admin: find_sink(admin, arguments.sink))
    slots = [each._asdict() for each in found.slots]
    if arguments.output != "table":
        show_one(_row(found) | {"slots": slots}, arguments.output)
        return 0
    show_one(_row(found), arguments.output)
    if slots:
        print()
        show(slots, arguments.output)
    return 0


def _row(found: SinkDescription) -> dict[str, Any]:
    return {
        "sink": found.sink_id,
        "run": found.run_id,
        "generation": found.generation,
        "committed_batch": found.committed_batch if found.committed_batch >= 0 else None,
        "committed_digest": found.committed_digest,
        "ephemeral": found.ephemeral,
        "timeout": short_duration(found.timeout_ms / 1000),
        "updated": iso(found.updated_ms),
        "open_slots": len(found.slots),
    }
