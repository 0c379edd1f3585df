"""`ottla transactions list`: the transactions that coordinators know."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.output import add_output_argument, show
from ottla.cli.time_arguments import duration_ms

if TYPE_CHECKING:
    from ottla.client.admin import Admin

EXAMPLES = """examples:
  ottla transactions list
  ottla transactions list --state Ongoing --longer-than 1m
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which transactions."""
    parser.add_argument("--state", action="append", default=[], metavar="STATE")
    parser.add_argument(
        "--longer-than", type=duration_ms, default=-1, metavar="TIME", help="open for so long"
    )
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print them."""

    async def listed(admin: Admin) -> list[dict[str, Any]]:
        found = await admin.list_transactions(
            states=arguments.state, running_longer_than_ms=arguments.longer_than
        )
        return [
            {
                "transactional_id": each.transactional_id,
                "state": each.state,
                "producer_id": each.producer_id,
                "coordinator": node,
            }
            for node, transactions in sorted(found.items())
            for each in sorted(transactions)
        ]

    show(ask(arguments, listed), arguments.output, nothing="there are no such transactions")
    return 0
