"""Finds where to begin in partitions without a position: the committed offset, else what auto.offset.reset says."""

from __future__ import annotations

import asyncio
import time

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.client.administration.offsets import Offsets
from ottla.client.commits import Commits
from ottla.client.consumer_settings import (
    LATEST,
    READ_COMMITTED,
    ConsumerSettings,
    reset_timestamp,
)
from ottla.client.errors import RequestTimedOut, api_error, is_retriable
from ottla.client.positions import Position, Positions
from ottla.client.retry import Deadline
from ottla.protocol.errors import ErrorCode


class PositionFinder:
    """Looks positions up beside whoever polls, all that are missing at once."""

    def __init__(
        self,
        positions: Positions,
        offsets: Offsets,
        commits: Commits,
        settings: ConsumerSettings,
        news: asyncio.Event,
    ) -> None:
        self._positions = positions
        self._offsets = offsets
        self._commits = commits
        self._settings = settings
        self._news = news
        self._task: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Begin to look up what is missing; raises what an earlier look met."""
        if self._task is not None and self._task.done():
            done, self._task = self._task, None
            error = done.exception()
            if error is not None and not is_retriable(error):
                raise error
        if self._task is None and (self._positions.lost() or self._positions.to_reset()):
            self._task = asyncio.get_running_loop().create_task(self._find())
            self._task.add_done_callback(lambda _: self._news.set())

    async def wait_for(self, partition: TopicPartition) -> None:
        """Wait until a position is known."""
        deadline = Deadline(self._settings.default_api_timeout_ms)
        position = self._positions[partition]
        while position.offset is None:
            self.look()
            if self._task is not None:
                await asyncio.wait([self._task], timeout=deadline.left_ms() / 1000)
            if not deadline.left_ms():
                raise RequestTimedOut(f"the position in {partition} could not be found in time")

    def close(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()

    async def _find(self) -> None:
        lost = [(each, self._positions[each]) for each in self._positions.lost()]
        if lost and self._settings.group_id is not None:
            stored = await self._commits.committed(each for each, _ in lost)
            for partition, position in lost:
                found = stored.get(partition)
                if found is not None and _is_lost(position):
                    position.seek(found.offset, found.leader_epoch)
        for partition, position in lost:
            if _is_lost(position):
                position.ask_reset(self._reset_of(partition))
        await self._reset()

    def _reset_of(self, partition: TopicPartition) -> int:
        timestamp = reset_timestamp(self._settings.auto_offset_reset, int(time.time() * 1000))
        if timestamp is None:
            raise api_error(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{partition} has no committed offset, and auto.offset.reset is none; seek to one",
            )
        return timestamp

    async def _reset(self) -> None:
        while wanted := self._positions.to_reset():
            asked = {each: self._positions[each] for each in wanted}
            committed_only = self._settings.isolation_level == READ_COMMITTED
            found = await self._offsets.list_offsets(wanted, read_committed=committed_only)
            for partition, position in asked.items():
                answer = found[partition]
                if position.reset != wanted[partition]:
                    continue  # somebody has sought another place meanwhile
                if isinstance(answer, ApiError):
                    raise answer
                if answer.offset >= 0:
                    position.seek(answer.offset, answer.leader_epoch)
                else:
                    position.ask_reset(LATEST)  # no record is that young: begin at the end


def _is_lost(position: Position) -> bool:
    return position.offset is None and position.reset is None
