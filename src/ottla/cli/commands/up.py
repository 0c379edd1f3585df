"""`ottla up`: everything on this machine with one command, for people."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ottla.base.errors import OttlaError
from ottla.cli.settings import add_setting_arguments, load_settings
from ottla.node.run import run_broker

if TYPE_CHECKING:
    from ottla.node.node import Node

SUMMARY = "Start ottla on this machine and show what to try."
EXAMPLES = """examples:
  ottla up
  ottla up --port 19092 --data-dir /tmp/try-ottla
"""
_DEFAULTS = {
    # A person who tries things out starts one consumer and does not want to wait for a second.
    "group.initial.rebalance.delay.ms": "0",
    "log.dirs": "ottla-data",
    "ottla.http.listener": "localhost:8082",
    "ottla.log.level": "warning",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How many brokers, and what overrides their settings."""
    parser.add_argument(
        "--brokers", type=int, default=1, metavar="N", help="how many brokers (default 1)"
    )
    add_setting_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    if arguments.brokers != 1:
        raise OttlaError("this version runs one broker; --brokers N comes with replication")
    return run_broker(load_settings(arguments, None, _DEFAULTS), on_ready=_greet)


def _greet(node: Node) -> None:
    bootstrap = node.bootstrap
    lines = [
        node.ready_line,
        "",
        "  Any Kafka client can use it now, for instance:",
        f"    kcat -b {bootstrap} -t hello -P <<< 'hello, ottla'",
        f"    kcat -b {bootstrap} -t hello -C -e",
        "  or from Python:",
        "    from confluent_kafka import Producer",
        f"    producer = Producer({{'bootstrap.servers': '{bootstrap}'}})",
        "    producer.produce('hello', 'hello, ottla')",
        "    producer.flush()",
        "",
        f"  data        {', '.join(str(path) for path in node.log_dirs)}",
    ]
    if node.http_address:
        lines.append(f"  metrics     http://{node.http_address}/metrics and /health")
    lines.append("  stop        Ctrl-C")
    print("\n".join(lines), flush=True)
