"""`ottla context remove`: forgets a context."""

from __future__ import annotations

import argparse

from ottla.cli.contexts import read_contexts, write_contexts
from ottla.cli.output import Report, add_output_argument

EXAMPLES = """examples:
  ottla context remove prod
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which one."""
    parser.add_argument("name", metavar="CONTEXT")
    add_output_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Forget it."""
    contexts, name = read_contexts(), arguments.name
    contexts.get(name)
    kept = {each: values for each, values in contexts.settings.items() if each != name}
    current = None if contexts.current == name else contexts.current
    write_contexts(contexts._replace(current=current, settings=kept))
    with Report(arguments.output) as report:
        none_left = "" if current else "; no context is in use now"
        report.tell(f"removed context {name}{none_left}", context=name, removed=True)
    return 0
