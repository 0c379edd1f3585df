"""Brings the ISRs that leaders want to the controller (AlterPartition); the answer is the next image.

A proposal stays as it is until the metadata shows a newer state of its partition, or the controller refuses it: sent
twice it changes nothing, and lost on the way it is sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.base.log import logger
from ottla.base.tasks import note_failure
from ottla.client.errors import ClientError
from ottla.cluster.image import Image
from ottla.cluster.peers import Peers
from ottla.config.live import LiveSettings
from ottla.protocol.apis.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    LeftEnd,
    PartitionData,
    TopicData,
)
from ottla.protocol.errors import ErrorCode
from ottla.replication import metrics
from ottla.replication.leadership import Proposal
from ottla.replication.partition import Partition
from ottla.replication.partitions import Partitions

log = logger(__name__)

_RETRY_S: Final = 0.1
_PAUSE_S: Final = 1.0
"""After a failure that nobody foresaw."""
# After these the metadata will show another state by itself.
_OVERTAKEN: Final = frozenset(
    (ErrorCode.NONE, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.INVALID_UPDATE_VERSION)
)
# A replica that the controller did not want is proposed again after this long.
_REFUSED_MS: Final = 1000


class IsrChanges:
    """Watches over the ISRs of everything that this broker leads."""

    def __init__(
        self,
        partitions: Partitions,
        peers: Peers,
        image: Callable[[], Image],
        settings: LiveSettings,
        now_ms: Callable[[], int],
    ) -> None:
        self._partitions = partitions
        self._peers = peers
        self._image = image
        self._settings = settings
        self._now_ms = now_ms
        self._proposed: dict[Partition, Proposal] = {}
        self._refused_ms: dict[Partition, int] = {}
        self._wake = asyncio.Event()
        self._news = _News()

    def caught_up(self, partition: Partition) -> None:
        """A follower outside of the ISR has fetched: perhaps it may join."""
        leadership = partition.leadership
        if leadership is None or leadership.pending is not None:
            return
        if self._now_ms() - self._refused_ms.get(partition, 0) < _REFUSED_MS:
            return
        self._refused_ms.pop(partition, None)
        proposal = leadership.expansion(partition.high_watermark, self._epochs())
        proposal = proposal or leadership.news_of_who_left(*partition.end)
        if proposal is not None:
            self._propose(partition, proposal)

    async def run(self) -> None:
        """Send what was proposed, as soon as it is; look twice in each lag for those who fell behind."""
        while True:
            lag_s = self._settings.now.replication.replica_lag_time_max_ms / 1000
            try:
                await self._act(lag_s / 2)
            except Exception:  # nobody else would ever change an ISR
                note_failure("ISR changes")
                await asyncio.sleep(_PAUSE_S)
                self._wake.set()

    async def _act(self, patience_s: float) -> None:
        try:
            async with asyncio.timeout(patience_s):
                await self._wake.wait()
        except TimeoutError:
            self._shrink()
        self._wake.clear()
        if self._proposed and not await self._send():
            await asyncio.sleep(_RETRY_S)
            self._wake.set()

    def _shrink(self) -> None:
        lag_ms = self._settings.now.replication.replica_lag_time_max_ms
        epochs, now_ms = self._epochs(), self._now_ms()
        for partition in self._partitions:
            leadership = partition.leadership
            if leadership is None:
                continue
            end = partition.log.end_offset
            proposal = leadership.shrinking(end, epochs, lag_ms, now_ms)
            proposal = proposal or leadership.news_of_who_left(*partition.end)
            if proposal is not None:
                self._propose(partition, proposal)

    def _propose(self, partition: Partition, proposal: Proposal) -> None:
        if proposal.left_end is None:
            self._news.note(partition.tp, set(partition.placed.isr), set(proposal.members))
        self._proposed[partition] = proposal
        self._wake.set()

    async def _send(self) -> bool:
        """Whether the controller has answered."""
        for partition, proposal in list(self._proposed.items()):
            if partition.leadership is None or partition.leadership.pending != proposal:
                del self._proposed[partition]  # the metadata has settled it
        if not self._proposed:
            return True
        sent = dict(self._proposed)
        self._news.tell()
        try:
            response = await self._peers.ask_controller(self._request(sent))
            if response.error_code:
                raise ApiError(response.error_code, ErrorCode(response.error_code).message)
        except (ClientError, ApiError) as failure:
            log.info("controller not reached", reason=str(failure))
            return False
        self._answered(sent, response)
        return True

    def _request(self, proposed: Mapping[Partition, Proposal]) -> AlterPartitionRequest:
        topics: dict[bytes, TopicData] = {}
        for partition, proposal in proposed.items():
            topic_id = partition.topic_id
            topic = topics.setdefault(topic_id.bytes, TopicData(topic_id=topic_id, partitions=[]))
            topic.partitions.append(
                PartitionData(
                    partition_index=partition.tp.partition,
                    leader_epoch=proposal.leader_epoch,
                    new_isr_with_epochs=[
                        BrokerState(broker_id=each, broker_epoch=epoch)
                        for each, epoch in proposal.isr
                    ],
                    partition_epoch=proposal.partition_epoch,
                    left_end=_left_end(proposal),
                )
            )
        member = self._peers.membership
        return AlterPartitionRequest(
            broker_id=member.broker_id,
            broker_epoch=member.broker_epoch,
            topics=list(topics.values()),
        )

    def _answered(
        self, sent: Mapping[Partition, Proposal], response: AlterPartitionResponse
    ) -> None:
        errors = {
            (topic.topic_id, each.partition_index): each.error_code
            for topic in response.topics
            for each in topic.partitions
        }
        for partition, proposal in sent.items():
            error = errors.get((partition.topic_id, partition.tp.partition))
            if self._proposed.get(partition) == proposal:
                del self._proposed[partition]
            if error == ErrorCode.NONE and proposal.left_end is not None:
                if partition.leadership is not None:
                    # A controller of a build that keeps no bounds writes nothing, and no image would end it.
                    partition.leadership.refused(proposal)
            elif error == ErrorCode.NONE:
                grown = len(proposal.isr) > len(partition.placed.isr)
                (metrics.ISR_EXPANDS if grown else metrics.ISR_SHRINKS).value += 1
            elif error not in _OVERTAKEN and partition.leadership is not None:
                log.info("ISR refused", partition=partition.tp, error=error)
                self._refused_ms[partition] = self._now_ms()
                partition.leadership.refused(proposal)

    def _epochs(self) -> dict[int, int]:
        return {broker_id: broker.epoch for broker_id, broker in self._image().brokers.items()}


class _News:
    """What is proposed, in one line a request: a broker that starts again joins hundreds of ISRs at once."""

    __slots__ = ("_joining", "_leaving", "_partitions")

    def __init__(self) -> None:
        self._partitions: list[TopicPartition] = []
        self._joining: set[int] = set()
        self._leaving: set[int] = set()

    def note(self, partition: TopicPartition, before: set[int], after: set[int]) -> None:
        """Remember a change of one ISR."""
        self._partitions.append(partition)
        self._joining |= after - before
        self._leaving |= before - after
        log.debug("ISR proposed", partition=partition, isr=sorted(after), was=sorted(before))

    def tell(self) -> None:
        """Write the line, if there is anything new."""
        if not self._partitions:
            return
        count = len(self._partitions)
        what: dict[str, object] = (
            {"partition": self._partitions[0]} if count == 1 else {"partitions": count}
        )
        log.info(
            "ISR proposed", **what, joining=sorted(self._joining), leaving=sorted(self._leaving)
        )
        self._partitions, self._joining, self._leaving = [], set(), set()


def _left_end(proposal: Proposal) -> LeftEnd | None:
    end = proposal.left_end
    return None if end is None else LeftEnd(last_epoch=end[0], end_offset=end[1])
