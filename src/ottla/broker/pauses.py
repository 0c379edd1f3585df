"""Watches what holds the process up: late wake-ups of the loop and garbage collections."""

from __future__ import annotations

import asyncio
import gc
from time import perf_counter

from ottla.broker import metrics

_INTERVAL_SECONDS = 0.1
# Young collections are frequent and cheap; the old ones scan everything that is alive, so they are made rare.
_GC_THRESHOLDS = (50_000, 20, 100)


def settle_memory() -> None:
    """After start-up: what lives now lives for ever, so the collector, if it was off, is on and need not look at it.

    Nothing is collected before: a walk over all modules takes longer than what little garbage they leave is worth.
    """
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
    gc.enable()


class PauseWatch:
    """Feeds the pause metrics while the broker runs."""

    def __init__(self) -> None:
        self._gc_began = 0.0
        self._by_generation = [
            metrics.GC_PAUSE_SECONDS.labels(generation=str(number)) for number in range(3)
        ]

    def start(self) -> None:
        """Begin to listen to the garbage collector."""
        gc.callbacks.append(self._collected)

    def stop(self) -> None:
        """Stop listening."""
        if self._collected in gc.callbacks:
            gc.callbacks.remove(self._collected)

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._gc_began = perf_counter()
        else:
            self._by_generation[info["generation"]].observe(perf_counter() - self._gc_began)
            metrics.GC_COLLECTED.value += info["collected"]

    async def run(self) -> None:
        """Sleep and see how late it gets."""
        while True:
            asked = perf_counter() + _INTERVAL_SECONDS
            await asyncio.sleep(_INTERVAL_SECONDS)
            metrics.LOOP_STALL_SECONDS.observe(max(0.0, perf_counter() - asked))
