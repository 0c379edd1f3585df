"""`ottla sinks list`: what jobs write their batches to."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.output import add_output_argument, show
from ottla.cli.sink_names import all_sinks
from ottla.inspection.human_units import iso

if TYPE_CHECKING:
    from ottla.client.admin import Admin

EXAMPLES = """examples:
  ottla sinks list
  ottla sinks list -o json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No choice."""
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print them."""

    async def listed(admin: Admin) -> list[dict[str, Any]]:
        return [
            {
                "sink": each.sink_id,
                "committed_batch": each.committed_batch if each.committed_batch >= 0 else None,
                "open_slots": len(each.slots),
                "generation": each.generation,
                "updated": iso(each.updated_ms),
                "coordinator": node,
            }
            for node, sinks in sorted((await all_sinks(admin)).items())
            for each in sorted(sinks)
        ]

    show(ask(arguments, listed), arguments.output, nothing="there are no sinks")
    return 0
