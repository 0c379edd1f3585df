"""`ottla acls remove`: removes access rules, after a question on a terminal."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ottla.base.errors import ApiError
from ottla.cli.access_rules import add_rule_arguments, rule_row, wanted_filters, where_served
from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.output import add_output_argument, show
from ottla.cli.questions import add_yes_argument, confirmed
from ottla.inspection.outcomes import raise_first

if TYPE_CHECKING:
    from ottla.client.admin import Admin

EXAMPLES = """examples:
  ottla acls remove --allow User:alice --topic orders
  ottla acls remove --topic orders --yes
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which rules."""
    add_rule_arguments(parser)
    add_yes_argument(parser)
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Remove all that match, and print them."""
    code: int = ask(arguments, where_served(lambda admin: _remove(admin, arguments)))
    return code


async def _remove(admin: Admin, arguments: argparse.Namespace) -> int:
    filters = wanted_filters(arguments)
    found = {acl for each in filters for acl in await admin.describe_acls(each)}
    show(map(rule_row, sorted(found)), arguments.output, nothing="there are no such rules")
    if not found:
        return 0
    if not confirmed(arguments, f"remove {len(found)} rules"):
        return 1
    results = await admin.delete_acls(filters)
    raise_first(results)
    for removed in results.values():
        if not isinstance(removed, ApiError):
            raise_first(removed)
    return 0
