"""`ottla context show`: what a context says."""

from __future__ import annotations

import argparse

from ottla.base.errors import OttlaError
from ottla.cli.contexts import chosen_context, contexts_file, read_contexts
from ottla.cli.output import add_output_argument, show_one
from ottla.security.settings import hidden

EXAMPLES = """examples:
  ottla context show
  ottla context show prod -o json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which one."""
    parser.add_argument("name", nargs="?", metavar="CONTEXT", help="the one in use if left out")
    add_output_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    name = arguments.name or chosen_context()
    if name is None:
        raise OttlaError(f"no context is in use ({contexts_file()} names none)")
    shown = {key: hidden(key, value) for key, value in read_contexts().get(name).items()}
    show_one({"context": name, **shown}, arguments.output)
    return 0
