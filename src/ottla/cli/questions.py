"""Asks before something is done that cannot be taken back."""

from __future__ import annotations

import argparse
import sys

from ottla.cli.parsing import complain


def add_yes_argument(parser: argparse.ArgumentParser) -> None:
    """--yes, for scripts."""
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def confirmed(arguments: argparse.Namespace, deed: str) -> bool:
    """Whether a person wants it; without a terminal nobody can be asked, and nothing is done."""
    if arguments.yes:
        return True
    if not sys.stdin.isatty():
        complain(f"{arguments.parser.prog}: would {deed}; nothing is done without --yes")
        return False
    sys.stdout.flush()
    print(f"{deed}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
