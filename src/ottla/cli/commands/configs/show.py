"""`ottla configs show`: settings, and where their values come from."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.output import add_output_argument, show
from ottla.cli.resources import add_resource_arguments, chosen_resource, resource_words
from ottla.cli.setting_changes import config_rows
from ottla.inspection.outcomes import raise_first

if TYPE_CHECKING:
    from ottla.client.admin import Admin

EXAMPLES = """examples:
  ottla configs show --topic orders
  ottla configs show --broker 1 --all
  ottla configs show --all-brokers -o json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Whose settings."""
    add_resource_arguments(parser)
    parser.add_argument("-a", "--all", action="store_true", help="defaults, too")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print them."""

    async def described(admin: Admin) -> list[dict[str, Any]]:
        resource = await chosen_resource(admin, arguments)
        found: dict[Any, Any] = await admin.describe_configs([resource])
        raise_first(found)
        return config_rows(found[resource], every=arguments.all)

    nothing = f"{resource_words(arguments)} has no settings of its own; --all shows the defaults"
    show(ask(arguments, described), arguments.output, nothing=nothing)
    return 0
