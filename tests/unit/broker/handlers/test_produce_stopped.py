"""Produce in a broker that stops: whoever waits for the coordinator of a transaction is let go without a word."""

import asyncio
from functools import partial
from typing import Any

import pytest

from ottla.base.ids import TopicPartition
from ottla.broker.handlers.produce import _Produce, _tell


@pytest.mark.interpreted
def test_who_waits_for_a_coordinator_when_the_broker_stops_leaves_no_traceback() -> None:
    complaints: list[dict[str, Any]] = []

    async def story() -> dict[TopicPartition, Any]:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, said: complaints.append(said))
        waiting = _Produce.__new__(_Produce)
        waiting.entered = {}
        entered = loop.create_future()
        entered.add_done_callback(partial(waiting._note_entry, {TopicPartition("t", 0)}, False))
        entered.cancel()
        await asyncio.sleep(0)
        _tell(entered, None)
        return waiting.entered

    assert asyncio.run(story()) == {}
    assert complaints == []
