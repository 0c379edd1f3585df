"""What is computed when somebody asks for the metrics: sizes and rates that exist anyway."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ottla.base.metrics import gauge
from ottla.broker import metrics
from ottla.broker.fetch_sessions import FetchSessions
from ottla.coordination import metrics as coordination
from ottla.coordination.runtime import Coordinator
from ottla.replication import metrics as replication
from ottla.replication.partitions import Partitions
from ottla.storage import metrics as storage
from ottla.storage.logs import Logs

if TYPE_CHECKING:
    from ottla.coordination.groups.group import Group
    from ottla.coordination.groups.shard import GroupShard
    from ottla.coordination.transactions.shard import TransactionShard

_LABELS = ("topic", "partition")

END_OFFSET = gauge(
    "ottla_partition_end_offset", "The offset behind a partition's last record.", _LABELS
)
START_OFFSET = gauge("ottla_partition_start_offset", "The first offset a partition holds.", _LABELS)
HIGH_WATERMARK = gauge("ottla_partition_high_watermark", "The end of what is committed.", _LABELS)
SIZE_BYTES = gauge("ottla_partition_size_bytes", "Bytes of a partition's log.", _LABELS)
BYTES_IN = gauge(
    "ottla_partition_bytes_in_per_second", "Bytes produced, over the last minute.", _LABELS
)
BYTES_OUT = gauge(
    "ottla_partition_bytes_out_per_second", "Bytes fetched, over the last minute.", _LABELS
)
MESSAGES_IN = gauge(
    "ottla_partition_messages_in_per_second", "Records produced, over the last minute.", _LABELS
)
OFFLINE_DIRECTORIES = gauge(
    "ottla_offline_log_directories", "Log directories that failed and wait for a restart."
)

STRAY_PARTITIONS = gauge(
    "ottla_stray_partitions", "Directories of partitions that the cluster does not know, set aside."
)

_Rows = Iterator[tuple[tuple[str, ...], float]]


def watch_gauges(partitions: Partitions, sessions: FetchSessions, logs: Logs) -> None:
    """Point the gauges at a running broker."""

    def rows(of: str) -> _Rows:
        for partition in partitions:
            value = getattr(partition, of) if hasattr(partition, of) else getattr(partition.log, of)
            yield (partition.tp.topic, str(partition.tp.partition)), value

    def rates(of: str) -> _Rows:
        now = time.time_ns() // 1_000_000
        for partition in partitions:
            ring = getattr(partition, of)
            yield (partition.tp.topic, str(partition.tp.partition)), ring.per_second(now)

    END_OFFSET.set_rows(lambda: rows("end_offset"))
    START_OFFSET.set_rows(lambda: rows("start_offset"))
    HIGH_WATERMARK.set_rows(lambda: rows("high_watermark"))
    SIZE_BYTES.set_rows(lambda: rows("size_bytes"))
    BYTES_IN.set_rows(lambda: rates("bytes_in"))
    BYTES_OUT.set_rows(lambda: rates("bytes_out"))
    MESSAGES_IN.set_rows(lambda: rates("messages_in"))
    metrics.FETCH_SESSIONS.set_function(lambda: len(sessions))
    metrics.FETCH_SESSION_EVICTIONS.set_function(lambda: sessions.evictions)
    storage.PRODUCERS.set_function(lambda: logs.producer_limit.count)
    storage.PRODUCERS_FORGOTTEN.set_function(lambda: logs.producer_limit.forgotten)
    replication.UNDER_REPLICATED.set_function(
        lambda: sum(partition.is_under_replicated for partition in partitions)
    )
    STRAY_PARTITIONS.set_function(logs.count_strays)
    OFFLINE_DIRECTORIES.set_function(lambda: sum(each.offline is not None for each in logs.dirs))


def watch_coordinators(
    groups: Coordinator[GroupShard], transactions: Coordinator[TransactionShard]
) -> None:
    """Point the gauges of groups and transactions at the machines of a running broker."""

    def every_group() -> Iterator[Group]:
        return (group for shard in groups.loaded_shards() for group in shard.groups.values())

    def states() -> _Rows:
        counted = Counter((group.type_name, group.state_name) for group in every_group())
        yield from counted.items()

    def members() -> _Rows:
        for kind in ("classic", "consumer"):
            sizes = (len(group.members) for group in every_group() if group.type_name == kind)
            yield (kind,), sum(sizes)

    def transaction_states() -> _Rows:
        shards = transactions.loaded_shards()
        found = Counter(each.state for shard in shards for each in shard.transactions.values())
        yield from (((state.label,), count) for state, count in found.items())

    coordination.GROUPS.set_rows(states)
    coordination.GROUP_MEMBERS.set_rows(members)
    coordination.COMMITTED_OFFSETS.set_function(
        lambda: sum(len(shard.offsets) for shard in groups.loaded_shards())
    )
    coordination.TRANSACTIONS.set_rows(transaction_states)
    coordination.SINKS.set_function(
        lambda: sum(len(shard.sinks.sinks) for shard in transactions.loaded_shards())
    )
