"""`ottla transactions describe`: one transaction."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.output import add_output_argument, show_one
from ottla.cli.transactional_ids import find_transaction
from ottla.inspection.human_units import iso, short_duration

if TYPE_CHECKING:
    from ottla.client.administration.transactions import TransactionDescription

EXAMPLES = """examples:
  ottla transactions describe payments-1
  ottla transactions describe payments-1 -o json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which one."""
    parser.add_argument("transactional_id", metavar="ID")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    name = arguments.transactional_id
    found = ask(arguments, lambda admin: find_transaction(admin, name))
    show_one(_row(name, found), arguments.output)
    return 0


def _row(name: str, found: TransactionDescription) -> dict[str, Any]:
    open_s = time.time() - found.start_ms / 1000 if found.start_ms >= 0 else None
    return {
        "transactional_id": name,
        "state": found.state,
        "coordinator": found.coordinator_id,
        "producer_id": found.producer_id,
        "producer_epoch": found.producer_epoch,
        "timeout_ms": found.timeout_ms,
        "began": None if open_s is None else iso(found.start_ms),
        "open_for": None if open_s is None else short_duration(max(0.0, open_s)),
        "partitions": [str(at) for at in found.partitions],
    }
