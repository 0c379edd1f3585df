"""`ottla http`: REST and the console, in a process of its own."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping

from ottla.base.errors import OttlaError
from ottla.cli.connect import assignments
from ottla.config.load import ENVIRONMENT_PREFIX
from ottla.config.properties import parse_properties

EXAMPLES = """examples:
  ottla http --bootstrap-server localhost:9092
  ottla http http.properties --listen localhost:8082
  ottla http -b kafka-1:9092 --command-config client.properties --set ottla.http.read.only=true
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which cluster, and where to listen."""
    parser.add_argument(
        "properties", nargs="?", metavar="http.properties", help="settings: docs/rest.md lists them"
    )
    parser.add_argument(
        "-b", "--bootstrap-server", metavar="HOST:PORT", help="brokers of the cluster to ask first"
    )
    parser.add_argument(
        "--command-config", metavar="FILE", help="settings of its clients, such as how they log in"
    )
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help="serve here (default localhost:8082; port 0 takes a free one)",
    )
    # Ends with the process at the other end of standard input: `ottla up` starts it so.
    parser.add_argument("--with-parent", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="assignments",
        metavar="NAME=VALUE",
        help="a setting; may be given again",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or Ctrl-C."""
    from ottla.http.settings import ROWS, http_settings

    properties = _read(arguments.properties)
    for name in ROWS:
        variable = ENVIRONMENT_PREFIX + name.removeprefix("ottla.").upper().replace(".", "_")
        if variable in os.environ:
            properties[name] = os.environ[variable]
    properties |= assignments(arguments.assignments, "--set")
    client = dict(_read(arguments.command_config))
    servers = arguments.bootstrap_server or os.environ.get("OTTLA_BOOTSTRAP_SERVERS")
    if servers is not None:
        client["bootstrap.servers"] = servers
    elif "bootstrap.servers" not in {**properties, **client}:
        client["bootstrap.servers"] = "localhost:9092"
    settings = http_settings(properties, client, arguments.listen)

    from ottla.http.run import run as serve

    return serve(settings, _print_ready, with_parent=arguments.with_parent)


def _print_ready(urls: list[str]) -> None:
    """The one line that scripts wait for."""
    print(f"ottla http ready on {', '.join(urls)}", flush=True)


def _read(path: str | None) -> dict[str, str]:
    if path is None:
        return {}
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        found: Mapping[str, str] = parse_properties(text)
    except ValueError as flaw:
        raise OttlaError(f"{path}: {flaw}") from None
    return dict(found)
