"""`ottla streams run`: a topology at work on Spark."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from ottla.base.errors import OttlaError
from ottla.cli.connect import (
    BOOTSTRAP,
    DEFAULTS,
    add_broker_arguments,
    client_settings,
    known_to,
)
from ottla.cli.output import add_output_argument, show
from ottla.cli.topology_files import load_topology
from ottla.client.settings import ClientSettings
from ottla.config.properties import parse_properties
from ottla.streams.errors import TopologyError

if TYPE_CHECKING:
    from ottla.streams.application import Application

EXAMPLES = """examples:
  ottla streams run app.py
  ottla streams run app.py --until-caught-up
  ottla streams run app.py --application-id orders --checkpoint /var/lib/orders --master 'local[4]'
The file defines `topology`. The command ends with 0 when it is stopped or has caught up, with 1 when the application
fails, with 2 when the topology cannot be built.
"""
_FAILED = 1
_CANNOT_BE_BUILT = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file, and where it runs."""
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="a Python file that defines `topology`"
    )
    parser.add_argument(
        "--application-id",
        metavar="NAME",
        help="names checkpoints, consumer group and internal topics (default: the name of the file)",
    )
    parser.add_argument(
        "--command-config", type=Path, metavar="FILE", help="settings of the clients"
    )
    parser.add_argument(
        "--master", default="local[2]", metavar="URL", help="where Spark runs (default: local[2])"
    )
    parser.add_argument(
        "--checkpoint", metavar="DIR", help="where the application keeps what it has done"
    )
    parser.add_argument(
        "--until-caught-up",
        action="store_true",
        help="end when inputs and internal topics have no lag",
    )
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run it; the exit code."""
    try:
        application = _application(arguments)
    except TopologyError as error:
        print(f"{arguments.file}: {error}", file=sys.stderr)
        return _CANNOT_BE_BUILT

    def stop(number: int, frame: FrameType | None) -> None:
        application.end()

    before = signal.signal(signal.SIGTERM, stop)
    try:
        application.run(until_caught_up=arguments.until_caught_up)
    except OttlaError as error:
        print(f"{application.application_id}: {error}", file=sys.stderr)
        return _FAILED
    finally:
        signal.signal(signal.SIGTERM, before)
    if arguments.output != "table":
        show([{"application": application.application_id, "state": "ended"}], arguments.output)
    return 0


def _application(arguments: argparse.Namespace) -> Application:
    from ottla.streams.application import Application

    settings = known_to(ClientSettings, client_settings(arguments))
    client = {name: value for name, value in settings.items() if DEFAULTS.get(name) != value}
    if arguments.command_config is not None:
        client = {**parse_properties(arguments.command_config.read_text()), **client}
    servers = client.pop(BOOTSTRAP)
    return Application(
        load_topology(arguments.file),
        application_id=arguments.application_id or arguments.file.stem,
        bootstrap_servers=servers,
        checkpoint=arguments.checkpoint,
        master=arguments.master,
        client=client,
        modules=(arguments.file,),
    )
