"""`ottla acls list`: access rules."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ottla.cli.access_rules import add_rule_arguments, rule_row, wanted_filters, where_served
from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.output import add_output_argument, show

if TYPE_CHECKING:
    from ottla.client.admin import Admin
    from ottla.client.administration.access import Acl

EXAMPLES = """examples:
  ottla acls list
  ottla acls list --topic orders -o json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which rules."""
    add_rule_arguments(parser)
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print them."""

    async def found(admin: Admin) -> set[Acl]:
        return {
            acl for each in wanted_filters(arguments) for acl in await admin.describe_acls(each)
        }

    rules = ask(arguments, where_served(found))
    show(map(rule_row, sorted(rules)), arguments.output, nothing="there are no such rules")
    return 0
