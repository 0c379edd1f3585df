"""`ottla acls add`: a new access rule."""

from __future__ import annotations

import argparse

from ottla.cli.access_rules import add_rule_arguments, rule_row, wanted_rules, where_served
from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.output import add_output_argument, show
from ottla.inspection.outcomes import raise_first

EXAMPLES = """examples:
  ottla acls add --allow User:alice --operation read --operation describe --topic orders
  ottla acls add --deny User:bob --operation write --topic orders- --prefix
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The rule."""
    add_rule_arguments(parser)
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Add it, and print it."""
    rules = wanted_rules(arguments)
    raise_first(ask(arguments, where_served(lambda admin: admin.create_acls(rules))))
    show(map(rule_row, rules), arguments.output)
    return 0
