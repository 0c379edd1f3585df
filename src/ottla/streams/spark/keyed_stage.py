"""The second stage of a query: operators with state, key by key, in Spark's transformWithState."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from ottla.streams.spark.first_stage import row_of
from ottla.streams.spark.keyed_state import KeyedOperators, KeyState, Place
from ottla.streams.spark.operators import Handed, Output, QueryRun
from ottla.streams.spark.plan import Plan, Query
from ottla.streams.spark.rows import dump, load
from ottla.streams.topology.stores import Store

_STATE_SCHEMA = "state binary"
_TIME_BYTES = 8


class KeyedStage(StatefulProcessor):
    """Spark makes one for each task; the state of a key is one value, read and written once a batch."""

    def __init__(self, plan: Plan, query: Query) -> None:
        self._plan = plan
        self._query = query

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._handle = handle
        self._value = handle.getValueState("state", _STATE_SCHEMA)
        self._run = QueryRun(self._plan, self._query, hands_over=False)
        self._operators = KeyedOperators(self._run)

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Row]:
        """Handle what has come for a key in this batch."""
        ordered = sorted(rows, key=_place)
        messages = [load(row.payload) for row in ordered]
        if all(isinstance(each, Output) for each in messages):
            return iter([_row(each) for each in messages])
        return self._worked(messages, timerValues)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Row]:
        """Close windows and call timers, of a key for which no record has come."""
        return self._worked([], timerValues, fired_ms=expiredTimerInfo.getExpiryTimeInMs())

    def close(self) -> None:
        """Nothing is open."""

    def _worked(
        self, messages: list[Any], times: TimerValues, fired_ms: int | None = None
    ) -> Iterator[Row]:
        watermark_ms = times.getCurrentWatermarkInMs()
        run, operators = self._run, self._operators
        run.now_ms = int(time.time() * 1000)
        found = self._value.get()
        before: KeyState = KeyState() if found is None else load(bytes(found[0]))
        if fired_ms is not None and before.timer_ms == fired_ms:
            before.timer_ms = None
        operators.begin(before, watermark_ms)
        for each in messages:
            if isinstance(each, Handed):
                run.take_up(each)
            else:
                run.outputs.append(each)
        operators.finish(watermark_ms)
        for topic, store, place, kept in operators.changes(before):
            run.outputs.append(_change(topic, store, place, kept, watermark_ms))
        self._keep(operators.taken_out(before, watermark_ms))
        outputs, run.outputs = run.outputs, []
        return iter([_row(output) for output in outputs])

    def _keep(self, state: KeyState) -> None:
        due = self._operators.deadline_ms(state)
        if due != state.timer_ms:
            if state.timer_ms is not None:
                self._handle.deleteTimer(state.timer_ms)
            if due is not None:
                self._handle.registerTimer(due)
            state.timer_ms = due
        if state.stores or state.operators or state.timer_ms is not None:
            self._value.update((dump(state),))
        else:
            self._value.clear()


def _place(row: Row) -> tuple[int, str, int, int, int]:
    return (row.order_ms, row.topic, row.partition, row.offset, row.number)


def _row(output: Output) -> Row:
    made = row_of(output)
    headers = [Row(**header) for header in made["headers"]]
    return Row(**{**made, "headers": headers})


def _change(topic: str, store: Store, place: Place, kept: Any, watermark_ms: int) -> Output:
    """The record of a changelog, under the key that Kafka Streams gives it."""
    key, start_ms, end_ms = place
    if store.kind == "window":
        key += start_ms.to_bytes(_TIME_BYTES, "big", signed=True)
    elif store.kind == "session":
        times = (each.to_bytes(_TIME_BYTES, "big", signed=True) for each in (end_ms, start_ms))
        key = b"".join((key, *times))
    if kept is None:
        return Output(topic, key, None, max(watermark_ms, 0), ())
    return Output(topic, key, kept.data, kept.timestamp_ms, ())
