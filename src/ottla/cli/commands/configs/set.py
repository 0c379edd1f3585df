"""`ottla configs set`: changes settings."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ottla.cli.connect import add_broker_arguments, ask, assignments
from ottla.cli.output import Report, add_output_argument
from ottla.cli.resources import add_resource_arguments, chosen_resource, resource_words
from ottla.cli.setting_changes import changes_of, say_changes
from ottla.inspection.outcomes import raise_first

if TYPE_CHECKING:
    from ottla.client.admin import Admin

EXAMPLES = """examples:
  ottla configs set --topic orders retention.ms=3600000
  ottla configs set --broker 1 log.cleaner.threads=2
  ottla configs set --group billing consumer.session.timeout.ms=60000
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Whose settings, and their values."""
    add_resource_arguments(parser)
    parser.add_argument("settings", nargs="+", metavar="NAME=VALUE")
    parser.add_argument("--dry-run", action="store_true", help="only ask whether it would work")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Change them."""
    changes = changes_of(assignments(arguments.settings, "set"), ())

    async def change(admin: Admin) -> None:
        resource = await chosen_resource(admin, arguments)
        raise_first(await admin.alter_configs({resource: changes}, validate_only=arguments.dry_run))

    ask(arguments, change)
    would = "would change " if arguments.dry_run else ""
    with Report(arguments.output) as report:
        say_changes(report, f"{would}{resource_words(arguments)}", changes)
    return 0
