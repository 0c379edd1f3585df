"""`ottla cluster id`: the id of the cluster."""

from __future__ import annotations

import argparse

from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.output import Report, add_output_argument

EXAMPLES = """examples:
  ottla cluster id
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which cluster."""
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    found = ask(arguments, lambda admin: admin.describe_cluster()).cluster_id
    with Report(arguments.output) as report:
        report.tell(str(found), cluster=found)
    return 0
