"""`ottla connect start`: a worker that runs connectors, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ottla.base.errors import OttlaError
from ottla.cli.connect import assignments
from ottla.config.properties import parse_properties

EXAMPLES = """examples:
  ottla connect start
  ottla connect start worker.properties
  ottla connect start -b localhost:9092 --listen 127.0.0.1:8083 --set file.roots=/srv/data
Then: curl localhost:8083/connector-plugins
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The worker's properties, and what overrides them."""
    parser.add_argument(
        "properties", nargs="?", metavar="worker.properties", help="settings, by Kafka's names"
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
        help="where the REST API is served; port 0 takes a free one",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="assignments",
        metavar="NAME=VALUE",
        help="a setting; may be given again",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until told to stop."""
    given = _read(arguments.properties) | assignments(arguments.assignments, "--set")
    client = _read(arguments.command_config)
    servers = arguments.bootstrap_server or os.environ.get("OTTLA_BOOTSTRAP_SERVERS")
    if servers is not None:
        given["bootstrap.servers"] = servers
    if arguments.listen is not None:
        given["listeners"] = f"http://{arguments.listen}"
    from ottla.connect.run import run_worker

    return run_worker(given, client, lambda url: print(f"ottla connect ready on {url}", flush=True))


def _read(path: str | None) -> dict[str, str]:
    if path is None:
        return {}
    try:
        return parse_properties(Path(path).read_text())
    except OSError as error:
        raise OttlaError(f"{path} cannot be read: {error.strerror}") from None
