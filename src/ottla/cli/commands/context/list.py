"""`ottla context list`: the contexts there are."""

from __future__ import annotations

import argparse

from ottla.cli.connect import BOOTSTRAP, DEFAULT_BOOTSTRAP
from ottla.cli.contexts import chosen_context, read_contexts
from ottla.cli.output import add_output_argument, show

EXAMPLES = """examples:
  ottla context list
  ottla context list -o json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How to print."""
    add_output_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print them."""
    contexts, current = read_contexts(), chosen_context()
    star = "*" if arguments.output == "table" else True
    rows = [
        {
            "current": star if name == current else ("" if star == "*" else False),
            "context": name,
            "bootstrap_servers": settings.get(BOOTSTRAP, DEFAULT_BOOTSTRAP),
        }
        for name, settings in sorted(contexts.settings.items())
    ]
    nothing = "there are no contexts; `ottla context add NAME -b HOST:PORT` adds one"
    show(rows, arguments.output, nothing=nothing)
    return 0
