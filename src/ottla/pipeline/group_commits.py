"""A stream's offsets as those of a consumer group, so that lag can be seen with the usual tools.

Spark's checkpoint decides where a stream goes on; a group's offsets are for people. So a commit never
fails a query, and never holds it up for long.
"""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.client.administration.group_offsets import CommittedOffset
from ottla.client.sync_admin import SyncAdmin
from ottla.pipeline.source_options import SourceOptions

DEFAULT_PREFIX: Final = "spark-ottla-source"
_EVERY_S: Final = 1.0
"""How often a busy stream commits; one that comes to rest does so at once."""
_LONGEST_S: Final = 5.0
_AFTER_FAILURE_S: Final = 1.0
"""An idle stream looks for records a hundred times a second; what failed is not tried that often."""
_DIGITS: Final = 12


def group_of(options: SourceOptions) -> str:
    """The group of a stream: as asked for, else the same for the same cluster and subscription."""
    if named := options.client.get("group.id"):
        return named
    read = (options.subscribe, options.subscribe_pattern, options.assign)
    digest = sha256(repr((options.bootstrap_servers, read)).encode()).hexdigest()
    return f"{options.group_id_prefix or DEFAULT_PREFIX}-{digest[:_DIGITS]}"


class GroupCommits:
    """Commits what a stream has processed."""

    def __init__(self, admin: SyncAdmin, group_id: str) -> None:
        self.group_id = group_id
        self._admin = admin
        self._committed: Mapping[TopicPartition, int] = {}
        self._not_before = 0.0
        self._retry_at = 0.0
        self._warned = False

    def offer(self, processed: Mapping[TopicPartition, int], *, idle: bool) -> None:
        """Commit what was processed, at once if the stream is idle, else now and then."""
        now = time.monotonic()
        due = self._retry_at if idle else max(self._retry_at, self._not_before)
        if not processed or processed == self._committed or now < due:
            return
        self._not_before = now + _EVERY_S
        try:
            self._admin.thread.run(self._commit(processed))
            self._committed = dict(processed)
        except (OttlaError, TimeoutError) as error:
            self._retry_at = time.monotonic() + _AFTER_FAILURE_S
            self._complain(error)

    async def _commit(self, processed: Mapping[TopicPartition, int]) -> None:
        offsets = {each: CommittedOffset(offset) for each, offset in processed.items()}
        async with asyncio.timeout(_LONGEST_S):
            outcomes = await self._admin.twin.alter_group_offsets(self.group_id, offsets)
        for outcome in outcomes.values():
            if isinstance(outcome, ApiError):
                raise outcome

    def _complain(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"offsets could not be committed to the group {self.group_id}, whose lag will look too "
                f"large: {error or 'the coordinator did not answer'}. The query itself is not affected.",
                stacklevel=2,
            )
