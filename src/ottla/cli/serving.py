"""Runs a broker in the process of a command."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING

from ottla.config.table import Settings

if TYPE_CHECKING:
    from ottla.node.node import Node


def serve(settings: Settings, on_ready: Callable[[Node], None]) -> int:
    """Serve until told to stop; the exit code."""
    # Hundreds of modules are imported: to look for garbage among them takes a tenth of the time. The node ends that.
    gc.disable()
    from ottla.node.run import run_broker

    return run_broker(settings, on_ready)


def print_ready(node: Node) -> None:
    """The line that scripts wait for, and one that says where the metrics are."""
    metrics = node.metrics_address
    more = [] if metrics is None else [f"metrics on http://{metrics}/metrics"]
    print("\n".join([node.ready_line, *more]), flush=True)
