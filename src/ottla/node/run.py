"""Runs a node until it is told to stop: the event loop, the signals, the exit code."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable

import uvloop

from ottla.base.log import configure, logger
from ottla.base.tasks import Tasks
from ottla.broker.pauses import settle_memory
from ottla.config.load import tell_ignored
from ottla.config.table import Settings
from ottla.node.node import Node
from ottla.node.warm_up import warm_up

log = logger(__name__)

# A thread that computes gives the loop its turn back after this long; the default of 5 ms is a long time for an ack.
_SWITCH_INTERVAL_SECONDS = 0.0005


def run_broker(
    settings: Settings,
    on_ready: Callable[[Node], None],
    make_node: Callable[[Settings], Node] = Node,
) -> int:
    """Serve until SIGTERM or SIGINT; a second one ends it at once."""
    configure(settings.ottla.log_format, settings.ottla.log_level)  # type: ignore[arg-type]
    sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS)
    tell_ignored(settings)
    node = make_node(settings)
    uvloop.run(_serve(node, on_ready))
    return 1 if node.is_lost else 0


async def _serve(node: Node, on_ready: Callable[[Node], None]) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        if stopping.is_set():
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    node.on_lost = stopping.set
    beside = Tasks()
    try:
        await node.start()
        settle_memory()
        on_ready(node)
        beside.spawn(warm_up())
        await stopping.wait()
    finally:
        await beside.cancel()
        await node.stop()
