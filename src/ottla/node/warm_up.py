"""Imports, a moment after a broker is ready, what it left out to be ready sooner: no client is to wait for that."""

from __future__ import annotations

import asyncio
import gc
from typing import Final

from ottla.broker.apis import APIS

# A broker that lives for one test is gone by then, and has only imported what the test asked of it.
_AFTER_S: Final = 1.0


async def warm_up(after_s: float = _AFTER_S) -> None:
    """Load every handler, one after the other, in a thread that lets the loop go first."""
    await asyncio.sleep(after_s)
    loop = asyncio.get_running_loop()
    for load in (*(api.load for api in APIS), _load_machines):
        await loop.run_in_executor(None, load)
    # As after start-up: these modules live for ever, too.
    gc.freeze()


def _load_machines() -> None:
    """Import the machines of groups and transactions, which are made with the first group or transaction."""
    import ottla.coordination.groups.shard
    import ottla.coordination.transactions.shard  # noqa: F401
