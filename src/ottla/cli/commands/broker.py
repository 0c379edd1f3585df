"""`ottla broker`: one broker, for operators: settings in, one ready line out."""

from __future__ import annotations

import argparse

from ottla.cli.serving import print_ready, serve
from ottla.cli.settings import add_setting_arguments, load_settings

SUMMARY = "Run one broker in the foreground."
EXAMPLES = """examples:
  ottla broker server.properties
  ottla broker --port 0 --data-dir /var/lib/ottla --set log.retention.hours=24
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The properties file, and what overrides it."""
    parser.add_argument(
        "properties", nargs="?", metavar="server.properties", help="settings, by Kafka's names"
    )
    add_setting_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or Ctrl-C."""
    return serve(load_settings(arguments, arguments.properties), print_ready)
