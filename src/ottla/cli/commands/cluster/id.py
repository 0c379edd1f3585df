"""`ottla cluster id`: the id of the cluster."""

from __future__ import annotations

import argparse

from ottla.cli.connect import add_broker_arguments, ask

EXAMPLES = """examples:
  ottla cluster id
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which cluster."""
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    print(ask(arguments, lambda admin: admin.describe_cluster()).cluster_id)
    return 0
