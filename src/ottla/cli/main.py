"""`ottla`: finds the command and runs it."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from ottla._version import __version__
from ottla.base.errors import OttlaError
from ottla.cli.commands import broker, up

_COMMANDS = {"up": up, "broker": broker}


def main(argv: Sequence[str] | None = None) -> int:
    """Run `ottla ARGV`; the exit code."""
    parser = argparse.ArgumentParser(
        prog="ottla",
        description="Kafka's log, retold in Python: a broker any Kafka client can talk to.",
    )
    parser.add_argument("--version", action="version", version=f"ottla {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in _COMMANDS.items():
        told = commands.add_parser(
            name,
            help=command.SUMMARY,
            description=command.SUMMARY,
            epilog=command.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(told)
    arguments = parser.parse_args(argv)
    try:
        code: int = _COMMANDS[arguments.command].run(arguments)
        return code
    except KeyboardInterrupt:  # before the broker listens to signals
        return 128 + signal.SIGINT
    except (OttlaError, OSError) as failure:
        print(f"ottla {arguments.command}: {failure}", file=sys.stderr)
        return 1
