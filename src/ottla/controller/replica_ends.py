"""Asks replicas how far they are, all brokers at once, beside whatever else the controller does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias
from uuid import UUID

from ottla.base.errors import ApiError, ClusterError
from ottla.base.log import logger
from ottla.client.errors import ClientError
from ottla.cluster.image import Image, PartitionImage, TopicImage
from ottla.cluster.peers import Peers
from ottla.cluster.znodes import Bound
from ottla.controller.last_resort import Known
from ottla.controller.leaders import Ends, Undecided
from ottla.protocol.apis.replica_ends import ReplicaEndsRequest, TopicPartitions
from ottla.protocol.errors import ErrorCode

log = logger(__name__)

# A broker that hangs must not hold up what others could lead; whoever is asked has the answer in memory.
_PATIENCE_S: Final = 2.0
_AGAIN_S: Final = 0.5

Registered: TypeAlias = tuple[int, int]
"""A broker by its id, and the epoch of one registration of it."""
Asked: TypeAlias = tuple[UUID, int, int]
"""A partition by topic id and number, in one of its epochs."""
Told: TypeAlias = Mapping[Registered, Mapping[Asked, Bound | None]]
"""What brokers said."""


class ReplicaEnds:
    """What is known of replicas of partitions without a leader: nobody writes to them, so it stays as it is."""

    def __init__(self, peers: Peers, image: Callable[[], Image]) -> None:
        self._peers = peers
        self._image = image
        # Who hears that more is known.
        self.on_answer: Callable[[], None] = _nobody
        self._told: dict[Registered, dict[Asked, Bound | None]] = {}
        self._asking: dict[Registered, asyncio.Task[None]] = {}

    def known(self, topic: TopicImage, partition: PartitionImage) -> Known:
        """How far replicas are, as their brokers said since they registered last, in this state of the partition."""
        return self._known(topic, partition, self._told)

    def _known(self, topic: TopicImage, partition: PartitionImage, by_broker: Told) -> Known:
        brokers = self._image().brokers
        key = _key(topic, partition)
        found: dict[int, Bound | None] = {}
        for each in partition.replicas:
            told = by_broker.get((each, brokers[each].epoch), {}) if each in brokers else {}
            if key in told:
                found[each] = told[key]
        return found

    def ask(self, undecided: Iterable[Undecided]) -> None:
        """Ask whoever is there and has not said it yet; `on_answer` hears of each that has."""
        for registered, wanted in self._questions(undecided, self._told).items():
            if registered not in self._asking:
                task = asyncio.create_task(self._ask_one(registered, wanted), name="replica ends")
                self._asking[registered] = task

    async def learn(self, undecided: Iterable[Undecided]) -> Ends:
        """Ask anew, and wait for all of the answers or for so long that there will be none."""
        questions = self._questions(undecided, {})
        answers = await asyncio.gather(*(self._tried(*each) for each in questions.items()))
        told = dict(zip(questions, answers, strict=True))
        return lambda topic, partition: self._known(topic, partition, told)

    def forget(self) -> None:
        """Nothing is undecided any more: what replicas said says nothing about the next time."""
        self._told.clear()

    async def close(self) -> None:
        """Ask nobody any more."""
        asking = tuple(self._asking.values())
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    def _questions(
        self, undecided: Iterable[Undecided], by_broker: Told
    ) -> dict[Registered, set[Asked]]:
        brokers = self._image().brokers
        found: dict[Registered, set[Asked]] = {}
        for topic, partition in undecided:
            key = _key(topic, partition)
            for each in partition.replicas:
                if each not in brokers:
                    continue
                registered = each, brokers[each].epoch
                if key not in by_broker.get(registered, {}):
                    found.setdefault(registered, set()).add(key)
        return found

    async def _ask_one(self, registered: Registered, wanted: set[Asked]) -> None:
        try:
            told = await self._tried(registered, wanted)
        finally:
            self._asking.pop(registered, None)
        self._told.setdefault(registered, {}).update(told)
        if None in told.values() or not told:
            # What could not be said now may be said later.
            asyncio.get_running_loop().call_later(_AGAIN_S, self._doubt, registered, set(told))
        if told:
            self.on_answer()

    async def _tried(
        self, registered: Registered, wanted: set[Asked]
    ) -> Mapping[Asked, Bound | None]:
        try:
            return await self._answers(registered[0], wanted)
        except (ClientError, ApiError, ClusterError, TimeoutError) as failure:
            log.warning("replica not asked", broker=registered[0], reason=repr(failure))
            return {}

    async def _answers(self, broker_id: int, wanted: set[Asked]) -> dict[Asked, Bound | None]:
        topics: dict[UUID, list[int]] = {}
        for topic_id, index, _ in sorted(wanted, key=lambda key: (key[0].bytes, key[1])):
            topics.setdefault(topic_id, []).append(index)
        request = ReplicaEndsRequest(
            topics=[TopicPartitions(topic_id=t, partitions=p) for t, p in topics.items()]
        )
        async with asyncio.timeout(_PATIENCE_S):
            answer = await self._peers.ask(broker_id, request)
        ends = {
            (topic.topic_id, end.partition): (end.last_epoch, end.end_offset)
            for topic in answer.topics
            for end in topic.partitions
            if end.error_code == ErrorCode.NONE
        }
        return {key: ends.get(key[:2]) for key in wanted}

    def _doubt(self, registered: Registered, asked: set[Asked]) -> None:
        told = self._told.get(registered, {})
        for key in asked & {key for key, end in told.items() if end is None}:
            del told[key]
        self.on_answer()


def _key(topic: TopicImage, partition: PartitionImage) -> Asked:
    return topic.topic_id, partition.partition, partition.partition_epoch


def _nobody() -> None:
    """Nobody has to hear of answers."""
