"""Membership of a classic group: joins, heartbeats in the background, leaves.

What a listener may see happens in `step`, inside of a poll. The requests, which may take as long as
the slowest member, run beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final, NamedTuple

from ottla.base.errors import ApiError, OttlaError
from ottla.base.ids import TopicPartition
from ottla.base.tasks import Tasks
from ottla.client.assignors import ASSIGNORS, Member, grouped_by_topic, member_of, subscription_of
from ottla.client.classic_member import ClassicMember, Next, changes
from ottla.client.cluster import Cluster
from ottla.client.consumer_settings import ConsumerSettings
from ottla.client.errors import api_error, is_retriable
from ottla.client.membership import Owner, Standing
from ottla.client.topic_watch import TopicWatch
from ottla.protocol.apis.heartbeat import HeartbeatRequest
from ottla.protocol.apis.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from ottla.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity
from ottla.protocol.apis.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from ottla.protocol.consumer_protocol import (
    CONSUMER,
    Assignment,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)

_JOIN_GRACE_MS: Final = 5_000
_LEAVE_TIMEOUT_MS: Final = 2_000


class _Share(NamedTuple):
    """What a join brought: who this member is in the new generation, and its partitions."""

    standing: Standing
    partitions: frozenset[TopicPartition]


class ClassicMembership:
    """One member of a classic group."""

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
        self._member = ClassicMember()
        self._assignors = [ASSIGNORS[name] for name in settings.partition_assignment_strategy]
        # Members that let go of nothing can share a group only with such members (KIP-429).
        self._eager = any(assignor.eager for assignor in self._assignors)
        self._loop = asyncio.get_running_loop()
        self._tasks = Tasks()
        self._joining: asyncio.Task[_Share] | None = None
        self._heartbeats: asyncio.Task[None] | None = None
        self._standing = Standing(group_id, instance_id=settings.group_instance_id)
        self._share: _Share | None = None
        self._lost = False
        self.losses = 0
        self._failure: Exception | None = None
        self._polled = self._loop.time()
        self._not_before_ms = 0.0
        self._shared_out: Mapping[str, int] = {}

    # --- what the consumer asks

    def standing(self) -> Standing:
        """The member and the generation whose assignment was applied last."""
        return self._standing

    def settled(self) -> bool:
        """Whether the member has its assignment."""
        return self._member.stable and not self._member.rejoin and self._share is None

    async def step(self, now_ms: float) -> None:
        """Hand over what a join brought, begin the next one if there is need.

        A poll may be cancelled at each await: what was not finished is begun again by the next one.
        """
        self._polled = self._loop.time()
        if self._failure is not None:
            raise self._failure
        if self._joining is not None and self._joining.done():
            joining, self._joining = self._joining, None
            self._finish(joining, now_ms)
        if self._lost:
            await self._owner.lose(self._owner.owned())
            self._lost = False
        if self._share is not None:
            await self._apply(self._share)
            self._share = None
        self._look_for_changes()
        if self._member.rejoin and self._joining is None and now_ms >= self._not_before_ms:
            await self._begin_to_join()

    async def close(self) -> None:
        """Leave the group, unless a static member means to come back."""
        joining = self._joining is not None
        for task in (self._joining, self._heartbeats):
            if task is not None:
                task.cancel()
        if self._settings.group_instance_id is None and (self._member.stable or joining):
            await self._leave()
        await self._tasks.cancel()

    # --- joining

    async def _begin_to_join(self) -> None:
        if self._eager and self._owner.owned():
            await self._owner.revoke(self._owner.owned())
        self._joining = self._loop.create_task(self._join())
        self._joining.add_done_callback(lambda _: self._news.set())

    def _finish(self, joining: asyncio.Task[_Share], now_ms: float) -> None:
        if joining.cancelled():
            return
        error = joining.exception()
        if error is None:
            share, member = joining.result(), self._member
            # Removed again since: what the generation gave this member is another's by now.
            if (share.standing.member_id, share.standing.generation) == (
                member.member_id,
                member.generation,
            ):
                self._share = share
        elif isinstance(error, OttlaError) and is_retriable(error):
            self._not_before_ms = now_ms + self._settings.retry_backoff_ms
            self._loop.call_later(self._settings.retry_backoff_ms / 1000, self._news.set)
        else:
            raise error

    async def _join(self) -> _Share:
        while True:
            topics = await self._watch.topics()
            response = await self._ask_to_join(topics)
            meaning = self._hear(response.error_code, response.member_id)
            if meaning is Next.GO_ON:
                self._member.joined(
                    response.member_id, response.generation_id, response.protocol_name or ""
                )
                share = await self._sync(response)
                if share is not None:
                    self._begin_to_beat()
                    return share
            elif meaning is Next.LATER:
                await asyncio.sleep(self._settings.retry_backoff_ms / 1000)

    async def _ask_to_join(self, topics: frozenset[str]) -> JoinGroupResponse:
        settings, member = self._settings, self._member
        owned = frozenset() if self._lost else self._owner.owned()
        request = JoinGroupRequest(
            group_id=self._group_id,
            session_timeout_ms=settings.session_timeout_ms,
            rebalance_timeout_ms=settings.max_poll_interval_ms,
            member_id=member.member_id,
            group_instance_id=settings.group_instance_id,
            protocol_type=CONSUMER,
            protocols=[
                JoinGroupRequestProtocol(
                    name=each.name,
                    metadata=encode_subscription(
                        subscription_of(each.name, topics, owned, member.generation)
                    ),
                )
                for each in self._assignors
            ],
        )
        within_ms = max(settings.request_timeout_ms, settings.max_poll_interval_ms + _JOIN_GRACE_MS)
        response: JoinGroupResponse = await self._cluster.ask_coordinator(
            self._group_id, request, timeout_ms=within_ms
        )
        return response

    async def _sync(self, joined: JoinGroupResponse) -> _Share | None:
        """This member's share; None if the group has begun to rebalance again meanwhile."""
        member = self._member
        leads = joined.leader == joined.member_id
        shares: list[SyncGroupRequestAssignment] = []
        if leads and not joined.skip_assignment:
            shares = await self._share_out(joined)
        elif leads:
            await self._remember_counts(joined)
        else:
            self._shared_out = {}
        request = SyncGroupRequest(
            group_id=self._group_id,
            generation_id=member.generation,
            member_id=member.member_id,
            group_instance_id=self._settings.group_instance_id,
            protocol_type=CONSUMER,
            protocol_name=member.protocol,
            assignments=shares,
        )
        response = await self._cluster.ask_coordinator(self._group_id, request)
        meaning = self._hear(response.error_code)
        if meaning is not Next.GO_ON:
            return None
        member.synced()
        assignment = decode_assignment(response.assignment)
        instance_id = self._settings.group_instance_id
        return _Share(
            Standing(self._group_id, member.member_id, member.generation, instance_id),
            frozenset(
                TopicPartition(topic.topic, n)
                for topic in assignment.partitions
                for n in topic.partitions
            ),
        )

    async def _share_out(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        members: dict[str, Member] = {}
        name = self._member.protocol
        for each in joined.members:
            told = decode_subscription(each.metadata)
            members[each.member_id] = member_of(name, told, each.group_instance_id)
        counts = await self._remember_counts(joined)
        shares = ASSIGNORS[name].assign(counts, members)
        return [
            SyncGroupRequestAssignment(
                member_id=member_id,
                assignment=encode_assignment(
                    Assignment(partitions=grouped_by_topic(partitions)), version=1
                ),
            )
            for member_id, partitions in shares.items()
        ]

    async def _remember_counts(self, joined: JoinGroupResponse) -> Mapping[str, int]:
        topics = {
            topic for each in joined.members for topic in decode_subscription(each.metadata).topics
        }
        counts = await self._watch.partition_counts(topics)
        self._shared_out = {topic: counts.get(topic, 0) for topic in topics}
        return counts

    def _hear(self, code: int, member_id: str | None = None) -> Next:
        meaning = self._member.heard(code, member_id)
        if meaning is Next.JOIN_AS_NEW:
            self._lose()
        elif meaning is Next.GIVE_UP:
            self._failure = api_error(code)
            raise self._failure
        return meaning

    def _lose(self) -> None:
        """The coordinator has removed this member: the program hears of it in the next poll, before all else."""
        self._lost = True
        self.losses += 1
        self._share = None

    async def _apply(self, share: _Share) -> None:
        # What is revoked below is committed in the new generation.
        self._standing = share.standing
        revoked, added = changes(self._owner.owned(), share.partitions)
        if revoked:
            # Others wait for what is let go of: the group must meet once more.
            self._member.ask_to_rejoin()
            await self._owner.revoke(revoked)
        if not self._lost:
            await self._owner.take(added)

    def _look_for_changes(self) -> None:
        """A leader notices topics and partitions that came or went, a member what its pattern matches."""
        if self._member.stable and self._watch.changed(self._shared_out):
            self._member.ask_to_rejoin()

    # --- heartbeats

    def _begin_to_beat(self) -> None:
        """As soon as there is a generation: it may be a while until the program polls again."""
        if self._heartbeats is None or self._heartbeats.done():
            self._heartbeats = self._loop.create_task(self._beat())

    async def _beat(self) -> None:
        settings = self._settings
        while self._failure is None:
            await asyncio.sleep(settings.heartbeat_interval_ms / 1000)
            if self._loop.time() - self._polled > settings.max_poll_interval_ms / 1000:
                await self._fall_silent()
                return
            if self._member.stable and not self._is_joining():
                await self._beat_once()

    async def _beat_once(self) -> None:
        generation = self._member.generation
        request = HeartbeatRequest(
            group_id=self._group_id,
            generation_id=generation,
            member_id=self._member.member_id,
            group_instance_id=self._settings.group_instance_id,
        )
        try:
            response = await self._cluster.ask_coordinator(
                self._group_id, request, timeout_ms=self._settings.session_timeout_ms
            )
            # An answer about a generation that has passed meanwhile says nothing of the present one.
            if generation == self._member.generation and not self._is_joining():
                self._hear(response.error_code)
        except ApiError as error:
            self._failure = self._failure or (None if is_retriable(error) else error)
        except OttlaError:
            return  # the coordinator is being looked for; the session decides
        if self._member.rejoin or self._failure is not None:
            self._news.set()

    def _is_joining(self) -> bool:
        return self._joining is not None and not self._joining.done()

    async def _fall_silent(self) -> None:
        """Nobody polled for max.poll.interval.ms: give the partitions to members that do."""
        if self._joining is not None:
            self._joining.cancel()
        if self._settings.group_instance_id is None:
            await self._leave()
        self._member.forget()
        self._lose()
        self._news.set()

    async def _leave(self) -> None:
        member_id = self._member.member_id
        request = LeaveGroupRequest(
            group_id=self._group_id,
            member_id=member_id,
            members=[MemberIdentity(member_id=member_id, reason="the consumer is being closed")],
        )
        if not member_id:
            return
        try:
            await self._cluster.ask_coordinator(
                self._group_id, request, timeout_ms=_LEAVE_TIMEOUT_MS
            )
        except OttlaError:
            return  # the coordinator will notice by the session time-out
