"""Carries out who leads what: decides on the newest image, writes in fenced steps of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Final
from uuid import UUID

from ottla.base.errors import ApiError, ClusterError
from ottla.base.ids import TopicPartition
from ottla.base.log import logger
from ottla.client.errors import ClientError
from ottla.cluster import znodes
from ottla.cluster.metadata import Metadata
from ottla.cluster.peers import Peers
from ottla.cluster.tree import Check, Delete, MultiFailed, Op, Set
from ottla.config.live import LiveSettings
from ottla.controller.controller import Controller
from ottla.controller.isr import IsrResult, WantedIsr, decide_isrs
from ottla.controller.leaders import (
    LogEnd,
    NewState,
    Undecided,
    after_change,
    election_error,
    hand_over,
    preferred,
    unclean_leaders,
)
from ottla.controller.reassignment import Move, MoveResult, decide_completions, decide_moves
from ottla.controller.requests import Decision
from ottla.protocol.apis.replica_ends import ReplicaEndsRequest, TopicPartitions
from ottla.protocol.errors import ErrorCode

log = logger(__name__)

# So many states in one step: ZooKeeper takes a megabyte, and a step holds up everybody else's.
_STATES_PER_STEP: Final = 250


class Elections:
    """What the controller does about leaders and ISRs."""

    def __init__(
        self, controller: Controller, metadata: Metadata, peers: Peers, settings: LiveSettings
    ) -> None:
        self._controller = controller
        self._metadata = metadata
        self._peers = peers
        self._settings = settings

    async def settle(self) -> int:
        """Give every partition the leader and the ISR that the registered brokers allow; how many changed.

        ClusterError if replicas that have to be asked first could not be: try again soon.
        """
        ends: dict[tuple[UUID, int], dict[int, LogEnd]] = {}
        undecided: list[Undecided] = []

        def decide() -> Iterable[NewState]:
            undecided.clear()
            for each in after_change(self._metadata.image, self._may_be_unclean, ends):
                if isinstance(each, NewState):
                    yield each
                else:
                    undecided.append(each)

        changed = await self._write_all(decide)
        if undecided:
            await self._ask_ends(undecided, ends)
            changed += await self._write_all(decide)
        if undecided:
            raise ClusterError(
                f"{len(undecided)} partitions have no leader until their last replicas in sync have all said how far"
                " they are"
            )
        return changed

    async def alter_isrs(
        self, broker_id: int, broker_epoch: int, wanted: Sequence[WantedIsr]
    ) -> Sequence[IsrResult]:
        """Grant a leader the ISRs that it asks for, or say why not."""

        def decide() -> Decision[IsrResult]:
            broker = self._metadata.image.brokers.get(broker_id)
            if broker is None or broker.epoch != broker_epoch:
                raise ApiError(ErrorCode.STALE_BROKER_EPOCH)
            decided = list(decide_isrs(self._metadata.image, broker_id, wanted))
            ops = [self._op(state) for _, state in decided if state is not None]
            return Decision(ops, [result for result, _ in decided])

        return await self._controller.carry_out(decide)

    async def shut_down(self, broker_id: int, broker_epoch: int) -> int:
        """Move away what a broker leads before it stops; how much nobody else can lead."""
        broker = self._metadata.image.brokers.get(broker_id)
        if broker is None or broker.epoch != broker_epoch:
            raise ApiError(ErrorCode.STALE_BROKER_EPOCH)
        await self._write_all(lambda: hand_over(self._metadata.image, broker_id))
        return sum(
            partition.leader == broker_id
            for topic in self._metadata.image.topics.values()
            for partition in topic.partitions
        )

    async def move(self, moves: Sequence[Move], *, may_change_factor: bool) -> Sequence[MoveResult]:
        """Begin to move partitions to other replicas, or go back."""
        return await self._controller.carry_out(
            lambda: decide_moves(
                self._metadata.image,
                moves,
                self._controller.epoch,
                may_change_factor=may_change_factor,
            )
        )

    async def complete_moves(self) -> None:
        """End the moves whose new replicas are all in sync."""
        ended = await self._controller.carry_out(
            lambda: decide_completions(self._metadata.image, self._controller.epoch)
        )
        for each in ended:
            log.info("reassignment completed", topic=each.topic, partition=each.partition)

    async def elect(
        self, wanted: Sequence[TopicPartition], *, unclean: bool
    ) -> dict[TopicPartition, ErrorCode]:
        """Elect the preferred leaders of partitions, or with `unclean` any leader for those that have none."""
        asked = set(wanted)
        before = {tp: election_error(self._metadata.image, tp, unclean=unclean) for tp in asked}
        able = {tp for tp, error in before.items() if error is ErrorCode.NONE}
        if unclean:
            await self._write_all(lambda: unclean_leaders(self._metadata.image, able))
        else:
            await self._write_all(
                lambda: preferred(
                    self._metadata.image,
                    lambda topic, each: TopicPartition(topic.name, each.partition) in able,
                )
            )
        return before

    async def prefer(self) -> int:
        """Give partitions back to their preferred leaders; how many."""
        return await self._write_all(lambda: preferred(self._metadata.image, lambda *_: True))

    async def bury(self, broker_id: int, broker_epoch: int) -> bool:
        """Remove the registration of a broker that is known to be dead, in the life in which it was seen.

        The incarnation is read before the registration: if both are of that life, no later one is harmed.
        """
        tree = self._metadata.tree
        incarnation = await tree.exists(znodes.incarnation_path(broker_id))
        registered = await tree.exists(znodes.broker_path(broker_id))
        if incarnation is None or registered is None or registered.czxid != broker_epoch:
            return False
        ops: list[Op] = [
            Check(znodes.incarnation_path(broker_id), incarnation.version),
            Delete(znodes.broker_path(broker_id)),
        ]
        try:
            await self._controller.write(ops)
        except MultiFailed as failed:
            log.info("broker not removed", broker=broker_id, found=failed)
            return False
        log.warning("dead broker removed", broker=broker_id, epoch=broker_epoch)
        return True

    async def _write_all(self, decide: Callable[[], Iterable[NewState]]) -> int:
        """Write all that `decide` finds, a step at a time, each decided on what the last one left."""
        changed = 0
        while True:

            def step() -> Decision[NewState]:
                states = list(islice(decide(), _STATES_PER_STEP))
                return Decision([self._op(state) for state in states], states)

            written = await self._controller.carry_out(step)
            for state in written:
                log.info(
                    "leader elected" if state.is_elected else "ISR changed",
                    topic=state.topic.name,
                    partition=state.partition.partition,
                    leader=state.leader,
                    epoch=state.leader_epoch,
                    isr=state.isr,
                )
            changed += len(written)
            if len(written) < _STATES_PER_STEP:
                return changed

    def _op(self, state: NewState) -> Op:
        path = znodes.state_path(state.topic.name, state.partition.partition)
        node = znodes.StateNode(state.leader, state.leader_epoch, state.isr, self._controller.epoch)
        return Set(path, znodes.encode_state(node), state.partition.partition_epoch)

    def _may_be_unclean(self, topic: str) -> bool:
        overrides = self._metadata.image.topic_config(topic)
        return self._settings.log_config(overrides).unclean_leader_election_enable

    async def _ask_ends(
        self, undecided: Sequence[Undecided], ends: dict[tuple[UUID, int], dict[int, LogEnd]]
    ) -> None:
        """Learn how far the replicas are; one that does not answer leaves its partitions undecided."""
        asked: dict[int, dict[UUID, list[int]]] = {}
        for topic, partition in undecided:
            for broker_id in partition.isr:
                topics = asked.setdefault(broker_id, {})
                topics.setdefault(topic.topic_id, []).append(partition.partition)
        for broker_id, topics in asked.items():
            request = ReplicaEndsRequest(
                topics=[TopicPartitions(topic_id=t, partitions=p) for t, p in topics.items()]
            )
            try:
                answer = await self._peers.ask(broker_id, request)
            except (ClientError, ApiError, ClusterError) as failure:
                log.warning("replica not asked", broker=broker_id, reason=str(failure))
                continue
            for told in answer.topics:
                for end in told.partitions:
                    if end.error_code == ErrorCode.NONE:
                        known = ends.setdefault((told.topic_id, end.partition), {})
                        known[broker_id] = end.last_epoch, end.end_offset
