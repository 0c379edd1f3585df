"""Carries out who leads what: decides on the newest image, writes in fenced steps of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import islice
from typing import Final, NamedTuple

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.base.log import logger
from ottla.cluster import znodes
from ottla.cluster.image import NO_LEADER
from ottla.cluster.metadata import Metadata
from ottla.cluster.peers import Peers
from ottla.cluster.registration import last_registered
from ottla.cluster.tree import Check, Delete, MultiFailed, Op, Set
from ottla.cluster.znodes import Bound
from ottla.config.live import LiveSettings
from ottla.controller.controller import Controller
from ottla.controller.isr import IsrResult, WantedIsr, decide_isrs
from ottla.controller.last_resort import unclean as unclean_state
from ottla.controller.leaders import (
    Ends,
    Policy,
    Undecided,
    after_change,
    election_error,
    hand_over,
    preferred,
)
from ottla.controller.reassignment import Move, MoveResult, decide_completions, decide_moves
from ottla.controller.replica_ends import ReplicaEnds
from ottla.controller.requests import Decision
from ottla.controller.states import NewState, fences
from ottla.protocol.errors import ErrorCode

log = logger(__name__)

# So many states in one step: ZooKeeper takes a megabyte, and a step holds up everybody else's.
_STATES_PER_STEP: Final = 250


class ReplicaState(NamedTuple):
    """A replica: whether its broker is there, how far it is if that is known, when the broker registered last."""

    broker_id: int
    is_registered: bool
    end: Bound | None
    registered_ms: int


class Elections:
    """What the controller does about leaders and ISRs."""

    def __init__(
        self, controller: Controller, metadata: Metadata, peers: Peers, settings: LiveSettings
    ) -> None:
        self._controller = controller
        self._metadata = metadata
        self._settings = settings
        self.ends = ReplicaEnds(peers, lambda: metadata.image)

    async def settle(self, *, is_patient: bool = False) -> int:
        """Give every partition the leader and the ISR that the registered brokers allow; how many changed.

        Where replicas have to be asked first, that goes on beside: `ends.on_answer` tells when to settle again. With
        `is_patient` nobody is elected uncleanly yet.
        """
        policy = self._policy(is_patient=is_patient)
        undecided: list[Undecided] = []

        def decide() -> Iterable[NewState]:
            undecided.clear()
            for each in after_change(self._metadata.image, policy, self.ends.known):
                if isinstance(each, NewState):
                    yield each
                else:
                    undecided.append(each)

        changed = await self._write_all(decide)
        if undecided:
            self.ends.ask(undecided)
        else:
            self.ends.forget()
        return changed

    async def alter_isrs(
        self, broker_id: int, broker_epoch: int, wanted: Sequence[WantedIsr]
    ) -> Sequence[IsrResult]:
        """Grant a leader the ISRs that it asks for, or say why not."""
        results: list[IsrResult] = []
        for start in range(0, len(wanted), _STATES_PER_STEP):
            some = wanted[start : start + _STATES_PER_STEP]
            results += await self._controller.carry_out(
                partial(self._decide_isrs, broker_id, broker_epoch, some)
            )
        return results

    def _decide_isrs(
        self, broker_id: int, broker_epoch: int, wanted: Sequence[WantedIsr]
    ) -> Decision[IsrResult]:
        image = self._metadata.image
        broker = image.brokers.get(broker_id)
        if broker is None or broker.epoch != broker_epoch:
            raise ApiError(ErrorCode.STALE_BROKER_EPOCH)
        decided = list(decide_isrs(image, broker_id, wanted, self._policy()))
        ops = self._ops([state for _, state in decided if state is not None])
        return Decision(ops, [result for result, _ in decided])

    async def shut_down(self, broker_id: int, broker_epoch: int) -> int:
        """Move away what a broker leads before it stops; how much nobody else can lead."""
        broker = self._metadata.image.brokers.get(broker_id)
        if broker is None or broker.epoch != broker_epoch:
            raise ApiError(ErrorCode.STALE_BROKER_EPOCH)
        policy = self._policy()
        await self._write_all(lambda: hand_over(self._metadata.image, broker_id, policy))
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
        """End the moves whose new replicas are all in sync, a step at a time."""
        while True:
            ended = await self._controller.carry_out(
                lambda: decide_completions(
                    self._metadata.image, self._controller.epoch, _STATES_PER_STEP
                )
            )
            for each in ended:
                log.info("reassignment completed", topic=each.topic, partition=each.partition)
            if len(ended) < _STATES_PER_STEP:
                return

    async def elect(
        self, wanted: Sequence[TopicPartition], *, unclean: bool
    ) -> dict[TopicPartition, ErrorCode]:
        """Elect the preferred leaders of partitions, or with `unclean` the furthest for those that have none."""
        asked = set(wanted)
        before = {tp: election_error(self._metadata.image, tp, unclean=unclean) for tp in asked}
        able = {tp for tp, error in before.items() if error is ErrorCode.NONE}
        if unclean:
            ends = await self.ends.learn(self._unled(able))
            await self._write_all(lambda: self._unclean(able, ends))
            unled = {
                TopicPartition(each.topic.name, each.partition.partition)
                for each in self._unled(able)
            }
            return before | dict.fromkeys(unled, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)
        policy = self._policy()
        await self._write_all(
            lambda: preferred(
                self._metadata.image,
                lambda topic, each: TopicPartition(topic.name, each.partition) in able,
                policy,
            )
        )
        return before

    async def describe_replicas(
        self, wanted: Sequence[TopicPartition] | None
    ) -> dict[TopicPartition, tuple[ReplicaState, ...]]:
        """How far the replicas of partitions are, or with None of all that nobody leads."""
        image = self._metadata.image
        self._controller.require_active()
        if wanted is None:
            unled = self._unled(
                TopicPartition(topic.name, each.partition)
                for topic in image.topics.values()
                for each in topic.partitions
            )
        else:
            found = ((image.topics.get(tp.topic), image.partition(*tp)) for tp in wanted)
            unled = [Undecided(t, p) for t, p in found if t is not None and p is not None]
        ends = await self.ends.learn(unled)
        away = {r for _, p in unled for r in p.replicas if r not in image.brokers}
        seen = await last_registered(self._metadata.tree, away)
        return {
            TopicPartition(topic.name, partition.partition): tuple(
                ReplicaState(
                    each,
                    each in image.brokers,
                    ends(topic, partition).get(each),
                    seen.get(each, 0),
                )
                for each in partition.replicas
            )
            for topic, partition in unled
        }

    def _unled(self, wanted: Iterable[TopicPartition]) -> list[Undecided]:
        """Those that nobody leads still."""
        image = self._metadata.image
        found = []
        for tp in wanted:
            topic, partition = image.topics.get(tp.topic), image.partition(*tp)
            is_unled = election_error(image, tp, unclean=True) is ErrorCode.NONE
            if topic is not None and partition is not None and is_unled:
                found.append(Undecided(topic, partition))
        return found

    def _unclean(self, wanted: Iterable[TopicPartition], ends: Ends) -> Iterator[NewState]:
        for topic, partition in self._unled(wanted):
            told = ends(topic, partition)
            known = {each: told.get(each) for each in partition.replicas}
            state = unclean_state(self._metadata.image, topic, partition, known)
            if isinstance(state, NewState):
                yield state

    async def prefer(self) -> int:
        """Give partitions back to their preferred leaders; how many."""
        policy = self._policy()
        return await self._write_all(
            lambda: preferred(self._metadata.image, lambda *_: True, policy)
        )

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
                return Decision(self._ops(states), states)

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

    def _ops(self, states: Sequence[NewState]) -> list[Op]:
        """The writes, behind checks that nobody whom a new leader relies on has registered since."""
        relied = {each for state in states if state.leader != NO_LEADER for each in state.isr}
        return [*fences(self._metadata.image, relied), *map(self._op, states)]

    def _op(self, state: NewState) -> Op:
        path = znodes.state_path(state.topic.name, state.partition.partition)
        data = znodes.encode_state(state.node(self._controller.epoch))
        return Set(path, data, state.partition.partition_epoch)

    def _policy(self, *, is_patient: bool = False) -> Policy:
        # One decision may ask for thousands of partitions of few topics.
        may_be_unclean = self._never if is_patient else self._may_be_unclean
        return Policy(cache(self._min_isr), cache(may_be_unclean))

    def _min_isr(self, topic: str) -> int:
        overrides = self._metadata.image.topic_config(topic)
        return self._settings.log_config(overrides).min_insync_replicas

    def _never(self, topic: str) -> bool:
        return False

    def _may_be_unclean(self, topic: str) -> bool:
        overrides = self._metadata.image.topic_config(topic)
        return self._settings.log_config(overrides).unclean_leader_election_enable
