"""What a Spark session needs for stream applications."""

from __future__ import annotations

from typing import Final

_STATE: Final = "spark.sql.streaming.stateStore"

SETTINGS: Final = {
    # transformWithState keeps its state in RocksDB alone.
    f"{_STATE}.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    f"{_STATE}.rocksdb.changelogCheckpointing.enabled": "true",
    # Each costs a task for each batch, however few records there are.
    "spark.sql.shuffle.partitions": "2",
    # One file less for each file of a checkpoint. Both halve the fixed cost of a batch.
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}
