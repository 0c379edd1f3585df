"""The first stage of a query, in a task for each range of a partition: operators without state, in Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from ottla.streams.driver.message import Origin
from ottla.streams.spark.operators import Handed, Output, QueryRun
from ottla.streams.spark.plan import Plan, Query
from ottla.streams.spark.rows import HANDED, WRITTEN, dump

Stage = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def first_stage(plan: Plan, query: Query) -> Stage:
    """Return the function of the first stage: from records as read to WRITTEN, or to HANDED if state follows."""
    is_stateful = query.is_stateful

    def run_first_stage(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = _FirstStage(plan, query)
        for batch in batches:
            rows = task.handed(batch) if is_stateful else task.written(batch)
            schema = to_arrow_schema(HANDED if is_stateful else WRITTEN, timezone="UTC")
            if rows:
                yield pa.RecordBatch.from_pylist(rows, schema=schema)

    return run_first_stage


class _FirstStage:
    def __init__(self, plan: Plan, query: Query) -> None:
        self._run = QueryRun(plan, query, hands_over=query.is_stateful)
        self._highest: dict[tuple[str, int], int] = {}

    def written(self, batch: pa.RecordBatch) -> list[dict[str, Any]]:
        """The rows of records to be written."""
        for origin in origins(batch):
            self._run.read(origin)
        outputs, self._run.outputs = self._run.outputs, []
        return [row_of(output) for output in outputs]

    def handed(self, batch: pa.RecordBatch) -> list[dict[str, Any]]:
        """The rows for the keys, those of records to be written among them."""
        run, rows = self._run, list[dict[str, Any]]()
        for origin in origins(batch):
            where = (origin.topic, origin.partition)
            order_ms = self._highest[where] = max(self._highest.get(where, -1), origin.timestamp_ms)
            run.read(origin)
            made: list[Handed | Output] = [*run.handed, *run.outputs]
            run.handed, run.outputs = [], []
            for number, each in enumerate(made):
                rows.append(
                    {
                        "key": each.key,
                        "order_ms": order_ms,
                        "topic": origin.topic,
                        "partition": origin.partition,
                        "offset": origin.offset,
                        "number": number,
                        "event_ms": each.message.timestamp_ms if isinstance(each, Handed) else None,
                        "payload": dump(each),
                    }
                )
        return rows


def row_of(output: Output) -> dict[str, Any]:
    """A record to be written, as a row of WRITTEN."""
    return {
        "topic": output.topic,
        "key": output.key,
        "value": output.value,
        "headers": [{"key": name, "value": value} for name, value in output.headers],
        "timestamp_ms": output.timestamp_ms,
    }


def origins(batch: pa.RecordBatch) -> Iterator[Origin]:
    """The records of a batch."""
    columns = [batch.column(name).to_pylist() for name in READ]
    for topic, partition, offset, timestamp_ms, key, value, headers in zip(*columns, strict=True):
        pairs = tuple((each["key"], each["value"]) for each in headers or ())
        yield Origin(topic, partition, offset, timestamp_ms, key, value, pairs)


READ = ("topic", "partition", "offset", "timestamp_ms", "key", "value", "headers")
"""The columns of records as read."""
