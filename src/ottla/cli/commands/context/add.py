"""`ottla context add`: a name for a cluster and the settings to reach it with."""

from __future__ import annotations

import argparse

from ottla.base.errors import OttlaError
from ottla.cli.connect import BOOTSTRAP, assignments
from ottla.cli.contexts import read_contexts, write_contexts
from ottla.cli.output import Report, add_output_argument
from ottla.client.settings import client_settings
from ottla.security.settings import is_about_security

EXAMPLES = """examples:
  ottla context add prod -b kafka-1:9092,kafka-2:9092
  ottla context add slow -b far-away:9092 -X request.timeout.ms=60000
  ottla context add prod -b kafka-3:9092 --replace
  ottla context add safe -b kafka-4:9093 -X security.protocol=SSL -X ssl.truststore.location=ca.pem
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What it is called, and what it says."""
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("-b", "--bootstrap-server", required=True, metavar="HOST:PORT")
    parser.add_argument(
        "-X",
        dest="client_settings",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of clients by Kafka's name; may be given again",
    )
    parser.add_argument("--replace", action="store_true", help="change the context if there is one")
    add_output_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Add it; the first one is in use from then on."""
    contexts, name = read_contexts(), arguments.name
    if name in contexts.settings and not arguments.replace:
        raise OttlaError(f"there is a context {name} already; --replace changes it")
    given = assignments(arguments.client_settings, "-X")
    settings = {BOOTSTRAP: arguments.bootstrap_server, **given}
    # Refused now rather than later; the others may be those of clients of any sort.
    client_settings(
        {
            name: text
            for name, text in settings.items()
            if name == BOOTSTRAP or is_about_security(name)
        }
    )
    current = contexts.current or name
    write_contexts(
        contexts._replace(current=current, settings={**contexts.settings, name: settings})
    )
    used = "in use" if current == name else f"`ottla context use {name}` makes commands use it"
    with Report(arguments.output) as report:
        report.tell(
            f"context {name}: {arguments.bootstrap_server} ({used})",
            context=name,
            current=current == name,
        )
    return 0
