"""Which topics a subscription means, how many partitions they have, and whether that has changed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping

from ottla.base.errors import OttlaError
from ottla.base.log import logger
from ottla.base.tasks import Tasks
from ottla.client.cluster import Cluster
from ottla.client.consumer_settings import ConsumerSettings
from ottla.client.errors import api_error, error_code
from ottla.client.retry import Backoff
from ottla.client.view import Topic, View
from ottla.protocol.errors import ErrorCode

log = logger(__name__)


class TopicWatch:
    """The topics of one subscription, by name or by a pattern that whole names must match."""

    def __init__(
        self, cluster: Cluster, settings: ConsumerSettings, wanted: Iterable[str] | re.Pattern[str]
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._pattern = wanted if isinstance(wanted, re.Pattern) else None
        self._names = frozenset(() if isinstance(wanted, re.Pattern) else wanted)
        self._others: frozenset[str] = frozenset()
        self._joined_with: frozenset[str] = frozenset()
        self._tasks = Tasks()
        self._looking = False
        self._missed: set[str] = set()
        self._next_look = 0.0
        self._waits = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)

    async def close(self) -> None:
        """Look no more."""
        await self._tasks.cancel()

    async def topics(self) -> frozenset[str]:
        """The topics as of now, remembered as what the group was joined with."""
        await self._look()
        self._joined_with = self._meant(self._cluster.view)
        return self._joined_with

    @property
    def view(self) -> View:
        """What is known of the cluster."""
        return self._cluster.view

    async def learn_all(self) -> None:
        """Ask for every topic there is."""
        await self._cluster.retried(lambda: self._cluster.refresh(None))

    async def partition_counts(self, topics: Iterable[str]) -> dict[str, int]:
        """How many partitions these topics have; those that do not exist are left out."""
        view = await self._cluster.retried(lambda: self._cluster.refresh(topics))
        return _counts(view, topics)

    def changed(self, shared_out: Mapping[str, int]) -> bool:
        """Whether the group should meet again: what was `shared_out` by this leader, or what is meant."""
        self._others = frozenset(shared_out)
        self._look_sometimes()
        view = self._cluster.view
        grown = any(count != shared_out[name] for name, count in _counts(view, shared_out).items())
        return grown or self._meant(view) != self._joined_with

    def _meant(self, view: View) -> frozenset[str]:
        pattern = self._pattern
        if pattern is None:
            return self._names
        hide = self._settings.exclude_internal_topics
        return frozenset(
            name
            for name, topic in view.topics.items()
            if not topic.error and pattern.fullmatch(name) and not (topic.internal and hide)
        )

    def _look_sometimes(self) -> None:
        """Ask again after metadata.max.age.ms, and soon while a topic that is wanted is not there."""
        loop = asyncio.get_running_loop()
        if self._looking or loop.time() < self._next_look:
            return
        self._looking = True
        self._tasks.spawn(self._look_again())

    async def _look_again(self) -> None:
        try:
            await self._look()
        except OttlaError:
            pass  # whoever needs a broker will hear of it
        finally:
            self._looking = False

    async def _look(self) -> None:
        create = self._settings.allow_auto_create_topics and self._pattern is None
        wanted = self._names | self._others
        asked = None if self._pattern is not None else wanted
        view = await self._cluster.retried(
            lambda: self._cluster.refresh(asked, allow_auto_create=create)
        )
        loop = asyncio.get_running_loop()
        found = [view.topics.get(name) for name in wanted]
        if all(topic is not None and not topic.error for topic in found):
            self._waits.reset()
            self._next_look = loop.time() + self._settings.metadata_max_age_ms / 1000
        else:
            self._next_look = loop.time() + self._waits.next_ms() / 1000
        for name in self._names:
            _refuse(view.topics.get(name))
            self._say_if_missing(name, view.topics.get(name))

    def _say_if_missing(self, name: str, topic: Topic | None) -> None:
        """Once for each topic that is waited for: its name may be misspelt."""
        if topic is not None and not topic.error:
            self._missed.discard(name)
        elif name not in self._missed:
            self._missed.add(name)
            log.warning(
                "a topic that is subscribed to does not exist; it is waited for", topic=name
            )


def _refuse(topic: Topic | None) -> None:
    """What will not pass by waiting is said at once."""
    if topic is not None and topic.error and not error_code(topic.error).retriable:
        raise api_error(topic.error, f"{topic.name}: {ErrorCode(topic.error).message}")


def _counts(view: View, topics: Iterable[str]) -> dict[str, int]:
    found = ((name, view.topics.get(name)) for name in topics)
    return {
        name: len(topic.partitions)
        for name, topic in found
        if topic is not None and not topic.error
    }
