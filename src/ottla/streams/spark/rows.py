"""What passes between the stages of a query: records to be written, and messages for the state of a key."""

from __future__ import annotations

import pickle
from typing import Any, Final

from pyspark.cloudpickle import dumps as dump_by_value
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

HEADERS: Final = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)
WRITTEN: Final = StructType(
    [
        StructField("topic", StringType()),
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("headers", HEADERS),
        StructField("timestamp_ms", LongType()),
    ]
)
"""A record for a topic."""

HANDED: Final = StructType(
    [
        StructField("key", BinaryType()),
        StructField("order_ms", LongType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("number", IntegerType()),
        StructField("event_ms", LongType()),
        StructField("payload", BinaryType()),
    ]
)
"""A message for a key, or a record to be written; in the order in which the operators are to see them.

`order_ms` is the running maximum of the timestamps of a partition, `number` counts what comes of one record.
`event_ms` is the time by which windows close; null for a record that is only to be written.
"""


def dump(value: object) -> bytes:
    """The bytes of a value; classes of a script's own travel with it."""
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):
        made: bytes = dump_by_value(value)  # type: ignore[no-untyped-call]  # PySpark has no types for it
        return made


def load(data: bytes) -> Any:
    """The value of such bytes, which are the application's own."""
    return pickle.loads(data)
