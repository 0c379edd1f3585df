"""Membership of a group whose partitions the broker assigns (KIP-848): one heartbeat does it all.

Heartbeats run in the background; partitions come and go, and listeners are told, in `step`, inside
of a poll.
"""

from __future__ import annotations

import asyncio
import uuid

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition, id_text
from ottla.client.classic_member import Next, changes
from ottla.client.cluster import Cluster
from ottla.client.consumer_member import JOIN, LEAVE, LEAVE_FOR_A_WHILE, ConsumerMember
from ottla.client.consumer_settings import ConsumerSettings
from ottla.client.errors import api_error, is_retriable
from ottla.client.membership import Owner, Standing
from ottla.client.topic_watch import TopicWatch
from ottla.protocol.apis.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

_LEAVE_TIMEOUT_MS = 2_000


class ConsumerMembership:
    """One member of such a group."""

    def __init__(
        self,
        group_id: str,
        cluster: Cluster,
        settings: ConsumerSettings,
        owner: Owner,
        watch: TopicWatch,
        news: asyncio.Event,
    ) -> None:
        self._group_id = group_id
        self._cluster = cluster
        self._settings = settings
        self._owner = owner
        self._watch = watch
        self._news = news
        self._member = ConsumerMember(id_text(uuid.uuid4()))
        self._loop = asyncio.get_running_loop()
        self._heartbeats: asyncio.Task[None] | None = None
        self._kick = asyncio.Event()
        self._topics: frozenset[str] | None = None
        self._standing = Standing(
            group_id, self._member.member_id, JOIN, settings.group_instance_id
        )
        self._lost = False
        self.losses = 0
        self._failure: Exception | None = None
        self._polled = self._loop.time()

    # --- what the consumer asks

    def standing(self) -> Standing:
        """This member and its last epoch; after a loss still that of the partitions that were lost."""
        return self._standing

    def settled(self) -> bool:
        """Whether the member has its assignment."""
        return self._member.epoch > JOIN and self._target() == self._owner.owned()

    async def step(self, now_ms: float) -> None:
        """Hand over what the heartbeats brought.

        A poll may be cancelled at each await: what was not finished is begun again by the next one.
        """
        self._polled = self._loop.time()
        if self._failure is not None:
            raise self._failure
        if self._lost:
            await self._owner.lose(self._owner.owned())
            self._lost = False
            self._kick.set()
        if self._heartbeats is None or self._heartbeats.done():
            self._heartbeats = self._loop.create_task(self._beat())
        if self._watch.changed({}) and self._topics is not None:
            self._topics = None
            self._kick.set()
        target = self._target()
        if target is not None and target != self._owner.owned():
            revoked, added = changes(self._owner.owned(), target)
            if revoked:
                await self._owner.revoke(revoked)
            if not self._lost:
                await self._owner.take(added)
            self._kick.set()

    async def close(self) -> None:
        """Leave the group, a static member for a while only."""
        if self._heartbeats is not None:
            self._heartbeats.cancel()
            if self._failure is None:
                await self._leave()

    def _target(self) -> frozenset[TopicPartition] | None:
        """What the broker wants this member to read; None while it has not said, or names are unknown."""
        if self._member.target is None:
            return None
        names = {topic.id: name for name, topic in self._watch.view.topics.items()}
        if not all(topic_id in names for topic_id, _ in self._member.target):
            return None
        return frozenset(TopicPartition(names[key], number) for key, number in self._member.target)

    # --- heartbeats

    async def _beat(self) -> None:
        """Beat until the membership ends; after a loss, `step` begins anew once the program has heard of it.

        To join again before that would let the program commit, under the new epoch, what it read of partitions
        that have other owners by now.
        """
        while self._failure is None and not self._lost:
            overdue = self._loop.time() - self._polled - self._settings.max_poll_interval_ms / 1000
            if overdue > 0:
                await self._fall_silent()
                return
            try:
                await self._beat_once()
            except ApiError as error:
                self._failure = None if is_retriable(error) else error
            except OttlaError as error:
                self._member.unheard()
                self._failure = None if is_retriable(error) else error
            self._news.set()
            await self._rest()

    async def _rest(self) -> None:
        """Wait until the next heartbeat is due, or there is something to say."""
        wait_ms = self._member.interval_ms or self._settings.retry_backoff_ms
        try:
            async with asyncio.timeout(wait_ms / 1000):
                await self._kick.wait()
        except TimeoutError:
            pass
        self._kick.clear()

    async def _beat_once(self) -> None:
        member = self._member
        if member.epoch == JOIN or self._topics is None:
            self._topics = await self._watch.topics()
        request = member.heartbeat(self._group_id, self._topics, self._owned_ids())
        request.instance_id = self._settings.group_instance_id
        if member.epoch == JOIN:
            request.rack_id = self._settings.client_rack or None
            request.rebalance_timeout_ms = self._settings.max_poll_interval_ms
            request.server_assignor = self._settings.group_remote_assignor
        response: ConsumerGroupHeartbeatResponse = await self._cluster.ask_coordinator(
            self._group_id, request
        )
        meaning = member.heard(response)
        if meaning is Next.GO_ON:
            self._standing = self._standing._replace(
                member_id=member.member_id, generation=member.epoch
            )
        elif meaning is Next.JOIN_AS_NEW:
            self._lose()
        elif meaning is Next.GIVE_UP:
            raise api_error(response.error_code, response.error_message)
        if member.target is not None and self._target() is None:
            # Assigned before this client has heard of the topic: ask for all there are.
            await self._watch.learn_all()

    def _owned_ids(self) -> frozenset[tuple[uuid.UUID, int]]:
        topics = self._watch.view.topics
        owned = self._owner.owned()
        return frozenset((topics[topic].id, number) for topic, number in owned if topic in topics)

    async def _fall_silent(self) -> None:
        """Nobody polled for max.poll.interval.ms: give the partitions to members that do."""
        await self._leave()
        self._member.forget()
        self._lose()
        self._news.set()

    def _lose(self) -> None:
        """The coordinator counts this member as gone: the program hears of it in the next poll."""
        self._lost = True
        self.losses += 1

    async def _leave(self) -> None:
        if self._member.epoch <= JOIN:
            return
        static = self._settings.group_instance_id is not None
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._group_id,
            member_id=self._member.member_id,
            member_epoch=LEAVE_FOR_A_WHILE if static else LEAVE,
            instance_id=self._settings.group_instance_id,
        )
        try:
            await self._cluster.ask_coordinator(
                self._group_id, request, timeout_ms=_LEAVE_TIMEOUT_MS
            )
        except OttlaError:
            return  # the coordinator will notice by the session time-out
