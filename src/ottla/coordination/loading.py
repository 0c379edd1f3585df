"""Brings a coordinator's machine to the end of its log, a piece per turn of the loop.

A record that cannot be read is passed over, and the log says which. Kafka does so with kinds that it does not know; one
that is damaged makes it give up the whole partition, and with it all groups that have nothing to do with the record.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Final

from ottla.base.errors import CorruptLog, ProtocolError
from ottla.base.ids import TopicPartition
from ottla.base.log import logger
from ottla.coordination import metrics
from ottla.coordination.decision import Shard, Transactional, UnknownRecord
from ottla.protocol.records.batch import BatchHeader, iter_headers
from ottla.protocol.records.control import read_end_transaction_marker
from ottla.protocol.records.record import read_records
from ottla.storage.log import Log

log = logger(__name__)

# What is replayed in one turn of the loop: some milliseconds' worth.
_LOAD_BYTES: Final = 64 * 1024
# Of damaged records that a load meets, this many are named one by one.
_NAMED: Final = 20


async def load(shard: Shard, source: Log, is_wanted: Callable[[], bool]) -> None:
    """Replay the log up to its end, wherever that is by then; StorageError when it cannot be read."""
    flaws = _Flaws(source.tp)
    offset = source.start_offset
    while offset < source.end_offset and is_wanted():
        view = memoryview(await _read(source, offset))
        try:
            after = _replay(shard, view, offset, flaws)
        except ProtocolError as flaw:
            raise CorruptLog(f"{source.tp}: behind offset {offset}: {flaw}") from flaw
        if after == offset:
            raise CorruptLog(f"{source.tp}: nothing to be read at {offset} of {source.end_offset}")
        offset = after
        await asyncio.sleep(0)
    flaws.sum_up()


async def _read(source: Log, offset: int) -> bytes | bytearray | memoryview:
    found = source.read(offset, _LOAD_BYTES, source.end_offset, at_least_one=True)
    if found.cold is None:
        return found.data
    return await asyncio.get_running_loop().run_in_executor(None, found.cold.read)


def _replay(shard: Shard, view: memoryview, offset: int, flaws: _Flaws) -> int:
    for pos, header in iter_headers(view):
        batch = view[pos : pos + header.size_bytes]
        try:
            if header.is_control:
                _replay_marker(shard, batch, header)
            else:
                _replay_records(shard, batch, header, flaws)
        except ProtocolError as flaw:
            flaws.damaged(header.base_offset, flaw)
        offset = header.last_offset + 1
    return offset


def _replay_marker(shard: Shard, batch: memoryview, header: BatchHeader) -> None:
    marker = read_end_transaction_marker(batch)
    if marker is not None:
        shard.replay_marker(header.producer_id, marker.committed)


def _replay_records(shard: Shard, batch: memoryview, header: BatchHeader, flaws: _Flaws) -> None:
    transactional = None
    if header.is_transactional:
        transactional = Transactional(header.producer_id, header.producer_epoch)
    for record in read_records(batch):
        try:
            if record.key is None:
                raise ProtocolError("it has no key")
            shard.replay(record.key, record.value, transactional)
        except UnknownRecord as unknown:
            flaws.unknown(unknown)
        except ProtocolError as flaw:
            flaws.damaged(record.offset, flaw)


class _Flaws:
    """What a load could not make sense of: the damaged one by one, the unknown summed up."""

    __slots__ = ("_damaged", "_tp", "_unknown")

    def __init__(self, tp: TopicPartition) -> None:
        self._tp = tp
        self._damaged = 0
        self._unknown: Counter[str] = Counter()

    def damaged(self, offset: int, flaw: ProtocolError) -> None:
        self._damaged += 1
        metrics.RECORDS_PASSED_OVER.labels(topic=self._tp.topic).value += 1
        if self._damaged <= _NAMED:
            log.error(
                "damaged record passed over",
                topic=self._tp.topic,
                partition=self._tp.partition,
                offset=offset,
                reason=str(flaw),
            )

    def unknown(self, unknown: UnknownRecord) -> None:
        self._unknown[str(unknown)] += 1
        metrics.RECORDS_PASSED_OVER.labels(topic=self._tp.topic).value += 1

    def sum_up(self) -> None:
        if self._damaged > _NAMED:
            log.error("more damaged records", partition=self._tp, count=self._damaged - _NAMED)
        for reason, count in self._unknown.items():
            log.warning(
                "records of an unknown kind passed over, perhaps left by a newer broker",
                partition=self._tp,
                kind=reason,
                count=count,
            )
