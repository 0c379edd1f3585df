"""`ottla topics configs`: the settings of a topic."""

from __future__ import annotations

import argparse

from ottla.cli.commands.configs import show as configs_show
from ottla.cli.connect import add_broker_arguments
from ottla.cli.output import add_output_argument

EXAMPLES = """examples:
  ottla topics configs orders
  ottla topics configs orders --all
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which topic."""
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("-a", "--all", action="store_true", help="defaults, too")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print them: this is `ottla configs show --topic`."""
    arguments.broker = arguments.group = None
    arguments.all_brokers = False
    return configs_show.run(arguments)
