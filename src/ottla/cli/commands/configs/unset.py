"""`ottla configs unset`: gives settings their defaults back."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.output import Report, add_output_argument
from ottla.cli.resources import add_resource_arguments, chosen_resource, resource_words
from ottla.cli.setting_changes import changes_of, say_changes
from ottla.inspection.outcomes import raise_first

if TYPE_CHECKING:
    from ottla.client.admin import Admin

EXAMPLES = """examples:
  ottla configs unset --topic orders retention.ms
  ottla configs unset --all-brokers log.retention.ms
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Whose settings."""
    add_resource_arguments(parser)
    parser.add_argument("settings", nargs="+", metavar="NAME")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Change them."""
    changes = changes_of({}, arguments.settings)

    async def change(admin: Admin) -> None:
        raise_first(await admin.alter_configs({await chosen_resource(admin, arguments): changes}))

    ask(arguments, change)
    with Report(arguments.output) as report:
        say_changes(report, resource_words(arguments), changes)
    return 0
