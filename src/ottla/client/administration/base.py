"""What all administration shares: a cluster, and how to ask leaders, brokers and the controller."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, TypeVar

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.client.cluster import Cluster
from ottla.client.errors import api_error
from ottla.client.retry import Deadline
from ottla.client.settings import AdminSettings, named_settings, read_settings, with_servers
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import Request

T = TypeVar("T")
Outcome: TypeAlias = T | ApiError
"""What became of one of several things: a value, or what the broker said against it."""

_LEADER_MOVED: Final = frozenset(
    (
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.REPLICA_NOT_AVAILABLE,
    )
)


class Administration:
    """A cluster to administer; the sorts of things to administer are subclasses."""

    def __init__(self, settings: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        self.settings = with_servers(read_settings(AdminSettings, named_settings(settings, named)))
        self.cluster = Cluster(self.settings, retries=self.settings.retries)

    @classmethod
    def sharing(cls, other: Administration) -> Self:
        """Administration of another sort of things over the same connections."""
        made = cls.__new__(cls)
        made.settings, made.cluster = other.settings, other.cluster
        return made

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self.cluster.close()

    @property
    def timeout_ms(self) -> int:
        """What requests that carry a time limit tell the broker."""
        return self.settings.request_timeout_ms

    async def ask_any(self, request: Request, *, node_id: int | None = None) -> Any:
        """The answer of a broker, asked again where the connection fails."""
        return await self.cluster.retried(lambda: self.cluster.ask(request, node_id=node_id))

    async def ask_brokers(
        self, request: Request, nodes: Iterable[int] | None = None
    ) -> dict[int, Any]:
        """The answers of several brokers, of all with None."""
        if nodes is None:
            view = await self.cluster.retried(self.cluster.refresh)
            nodes = view.brokers
        asked = sorted(set(nodes))
        answers = await gathered(self.ask_any(request, node_id=node) for node in asked)
        return dict(zip(asked, answers, strict=True))

    async def ask_leaders(
        self,
        partitions: Iterable[TopicPartition],
        build: Callable[[list[TopicPartition]], Request],
        read: Callable[[Any], Iterator[tuple[TopicPartition, Outcome[T]]]],
    ) -> dict[TopicPartition, Outcome[T]]:
        """What the leader of each partition answers; asked again where a leader has moved."""
        pending = set(partitions)
        found: dict[TopicPartition, Outcome[T]] = {}
        deadline = Deadline(self.settings.default_api_timeout_ms)
        backoff = self.cluster.backoff()
        while pending:
            groups = await self._by_leader(pending, found)
            asked = [self.ask_any(build(group), node_id=node) for node, group in groups.items()]
            for answer in await gathered(asked):
                found.update(read(answer))
            pending = {each for each in pending if _moved(found[each])}
            if pending and not await deadline.sleep(backoff.next_ms()):
                break
        return found

    async def _by_leader(
        self, partitions: Iterable[TopicPartition], failed: dict[TopicPartition, Outcome[Any]]
    ) -> dict[int, list[TopicPartition]]:
        topics = sorted({each.topic for each in partitions})
        view = await self.cluster.retried(lambda: self.cluster.refresh(topics))
        groups: dict[int, list[TopicPartition]] = {}
        for each in sorted(partitions):
            found = view.partition(*each)
            if found is not None and found.leader in view.brokers:
                groups.setdefault(found.leader, []).append(each)
            else:
                failed[each] = view.why_no_leader(*each)
        return groups


async def gathered(asked: Iterable[Any]) -> list[Any]:
    """All results at once; the first failure cancels the rest."""
    tasks = [asyncio.ensure_future(each) for each in asked]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def tried(asked: Awaitable[T]) -> Outcome[T]:
    """The result, or the error code that a broker answered instead."""
    try:
        return await asked
    except ApiError as error:
        return error


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The numbers of partitions under the names of their topics."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return topics


def outcome(code: int, message: str | None, value: T) -> Outcome[T]:
    """The value, unless the code is an error."""
    return api_error(code, message) if code else value


def _moved(found: Outcome[Any]) -> bool:
    return isinstance(found, ApiError) and found.code in _LEADER_MOVED
