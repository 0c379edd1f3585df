"""The process of a test's broker; its arguments are CONTROL_FD CLOCK_AHEAD_MS DIRECTORY [NAME=VALUE ...].

It is the node that `ottla broker` runs, with a clock that can be moved and a dispatcher that knows fault rules. If the
test's process ends without a word, it ends as well, and removes the temporary directory that was made for it.
"""

from __future__ import annotations

import asyncio
import shutil
import sys

from ottla.base.errors import OttlaError
from ottla.broker.apis import APIS_BY_KEY
from ottla.broker.context import Broker
from ottla.broker.server import Server
from ottla.config.load import load
from ottla.config.table import Settings
from ottla.node.node import Node
from ottla.node.run import run_broker
from ottla.testing.clock import MovableClock
from ottla.testing.control import Control
from ottla.testing.dispatcher import RuledDispatcher
from ottla.testing.rules import FaultRules
from ottla.testing.sightings import Sightings

_tasks: set[asyncio.Task[None]] = set()


def run(control_fd: int, ahead_ms: int, directory: str, assignments: list[str]) -> int:
    """Serve until told to stop, or until nobody is left to tell."""
    clock, rules, sightings = MovableClock(ahead_ms), FaultRules(), Sightings()
    control = Control(clock, rules, sightings)

    def make_server(broker: Broker) -> Server:
        dispatcher = RuledDispatcher(broker, APIS_BY_KEY, rules, sightings)
        server = Server(dispatcher, broker.settings)
        control.serve(broker, server)
        return server

    def make_node(settings: Settings) -> Node:
        return Node(settings, clock, make_server)

    def on_ready(node: Node) -> None:
        hello = {"node_id": node.node_id, "bootstrap_servers": node.bootstrap}
        _tasks.add(asyncio.get_running_loop().create_task(control.run(control_fd, hello)))

    code = run_broker(load(None, {}, assignments), on_ready, make_node)
    if control.is_orphaned:
        shutil.rmtree(directory, ignore_errors=True)
    return code


def main() -> None:
    """Run the process, and end it."""
    try:
        sys.exit(run(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]))
    except OttlaError as failure:
        sys.exit(f"ottla: {failure}")
