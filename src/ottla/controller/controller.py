"""The controller: decides on the newest image, writes in one fenced step, decides anew if it lost.

Every write carries a check of `/controller_epoch`: a controller that was replaced while it decided
changes nothing, and answers NOT_CONTROLLER.
"""

import asyncio
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeVar

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition, new_topic_id
from ottla.base.log import logger
from ottla.cluster import znodes
from ottla.cluster.metadata import Metadata
from ottla.cluster.tree import (
    Check,
    Create,
    Delete,
    MultiFailed,
    NoNode,
    Op,
    OutcomeUnknown,
    Set,
)
from ottla.config.live import LiveSettings
from ottla.controller.configs import ConfigBasis, cluster_min_isr, decide_configs
from ottla.controller.requests import (
    ConfigAlteration,
    ConfigResult,
    Decision,
    NewPartitions,
    NewTopic,
    TopicRef,
    TopicResult,
)
from ottla.controller.topics import (
    Circumstances,
    decide_create,
    decide_delete,
    decide_missing,
    decide_partitions,
    decide_shrinking,
    deletion_steps,
    named_topics,
)
from ottla.protocol.errors import ErrorCode

log = logger(__name__)

R = TypeVar("R")

MAX_ATTEMPTS: Final = 20


class _Term(NamedTuple):
    """The time for which this broker is the controller."""

    epoch: int
    version: int


class Controller:
    """Makes and changes topics and settings, while this broker is the controller."""

    def __init__(self, metadata: Metadata, live: LiveSettings, broker_id: int) -> None:
        self._metadata = metadata
        self._live = live
        self._broker_id = broker_id
        self._term: _Term | None = None
        self._electing = asyncio.Lock()
        self._start = 0

    @property
    def is_active(self) -> bool:
        """Whether this broker is the controller, as far as it knows."""
        return self._term is not None

    async def elect(self, now_ms: int, *, instead_of: int | None = None) -> bool:
        """Tries to become the controller, in one step that also begins a new epoch.

        `instead_of` names a controller that is dead although the tree does not know it yet: its node is replaced in
        the same step. Whoever else tries that loses, since the epoch has moved on, or since another rules by then.
        """
        async with self._electing:
            return self.is_active or await self._elect(now_ms, instead_of)

    async def _elect(self, now_ms: int, instead_of: int | None) -> bool:
        epoch, count = await self._next_epoch()
        # After the epoch: nobody can have come to rule since then without moving it on.
        if instead_of is not None and await self._ruler() != instead_of:
            return False
        claim = znodes.encode_controller(self._broker_id, now_ms)
        ops: list[Op] = [count]
        if instead_of is not None:
            ops.append(Delete(znodes.CONTROLLER))
        ops.append(Create(znodes.CONTROLLER, claim, ephemeral=True))
        try:
            await self._metadata.write(ops)
        except MultiFailed as failed:
            log.info("another broker is the controller", found=failed)
            return False
        except OutcomeUnknown:
            if not await self._was_elected(epoch):
                return False
        version = 0 if isinstance(count, Create) else count.version + 1
        self._term = _Term(epoch, version)
        log.info("controller elected", broker=self._broker_id, epoch=epoch)
        return True

    async def _next_epoch(self) -> tuple[int, Create | Set]:
        path = znodes.CONTROLLER_EPOCH
        try:
            data, stat = await self._metadata.tree.get(path)
        except NoNode:
            return 1, Create(path, znodes.encode_number(1))
        epoch = znodes.decode_number(path, data) + 1
        return epoch, Set(path, znodes.encode_number(epoch), stat.version)

    async def _ruler(self) -> int | None:
        try:
            data, _ = await self._metadata.tree.get(znodes.CONTROLLER)
        except NoNode:
            return None
        return znodes.decode_controller(znodes.CONTROLLER, data)

    async def _was_elected(self, epoch: int) -> bool:
        """Whether a step of unknown outcome took effect: the node is this session's, and the epoch is that one."""
        tree = self._metadata.tree
        owner = await tree.exists(znodes.CONTROLLER)
        data, _ = await tree.get(znodes.CONTROLLER_EPOCH)
        return (
            owner is not None
            and owner.ephemeral_owner == tree.session_id
            and znodes.decode_number(znodes.CONTROLLER_EPOCH, data) == epoch
        )

    def step_down(self) -> None:
        """Decides nothing any more: another broker is the controller, or this one cannot know."""
        if self._term is not None:
            log.info("no longer the controller", broker=self._broker_id, epoch=self._term.epoch)
            self._term = None

    async def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False
    ) -> Sequence[TopicResult]:
        """Makes topics; they can be used when this returns."""

        def decide() -> Decision[TopicResult]:
            return decide_create(self._circumstances(), topics, _ids(), self._start)

        results = await self.carry_out(decide, validate_only)
        if not validate_only:
            await self.complete_partitions()
            for made in (r for r in results if r.error is ErrorCode.NONE):
                self._start += made.partitions
                log.info("topic created", topic=made.name, partitions=made.partitions)
        return results

    async def delete_topics(self, references: Sequence[TopicRef]) -> Sequence[TopicResult]:
        """Deletes topics by name or id: in one step, unless they are too large for that."""
        results: list[TopicResult] = []
        for some in deletion_steps(self._metadata.image, references):
            for name in named_topics(self._metadata.image, some):
                await self._shrink(name)
            results += await self.carry_out(partial(self._decide_delete, some))
        for gone in (r for r in results if r.error is ErrorCode.NONE):
            log.info("topic deleted", topic=gone.name, topic_id=gone.topic_id)
        return results

    async def create_partitions(
        self, requests: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> Sequence[TopicResult]:
        """Gives topics more partitions."""
        results = await self.carry_out(
            lambda: decide_partitions(self._circumstances(), requests), validate_only
        )
        if not validate_only:
            await self.complete_partitions()
        for grown in (r for r in results if r.error is ErrorCode.NONE and not validate_only):
            log.info("partitions created", topic=grown.name, partitions=grown.partitions)
        return results

    async def complete_partitions(self) -> None:
        """Make the states of partitions that have none yet, a step at a time; any later controller can go on."""
        while await self.carry_out(lambda: decide_missing(self._circumstances())):
            log.debug("states of partitions made")

    async def _shrink(self, name: str) -> None:
        def decide() -> Decision[TopicPartition]:
            topic = self._metadata.image.topics.get(name)
            if topic is None or not self._live.now.topics.delete_topic_enable:
                return Decision([], [])
            return decide_shrinking(self._circumstances(), topic)

        while await self.carry_out(decide):
            log.debug("partitions of a topic that is deleted are gone", topic=name)

    def _decide_delete(self, references: Sequence[TopicRef]) -> Decision[TopicResult]:
        return decide_delete(self._circumstances(), references)

    async def alter_configs(
        self, alterations: Sequence[ConfigAlteration], *, validate_only: bool = False
    ) -> Sequence[ConfigResult]:
        """Changes the settings of topics, of brokers, or of all brokers."""

        def decide() -> Decision[ConfigResult]:
            return decide_configs(self._config_basis(), alterations)

        return await self.carry_out(decide, validate_only)

    async def fix_cluster_settings(self) -> None:
        """Write what must be one for the cluster into the tree, where that has no value of it yet."""
        await self.carry_out(
            lambda: decide_configs(self._config_basis(), cluster_min_isr(self._config_basis()))
        )

    def _config_basis(self) -> ConfigBasis:
        static, now = self._live.overlay.settings, self._live.now
        return ConfigBasis(self._metadata.image, static, now.log, self.epoch)

    def require_active(self) -> None:
        """NOT_CONTROLLER if another broker is the controller."""
        self._require_term()

    @property
    def epoch(self) -> int:
        """The epoch of the term; NOT_CONTROLLER outside of one."""
        return self._require_term().epoch

    async def write(self, ops: Sequence[Op]) -> None:
        """Writes in one step that fails (MultiFailed) if this broker is no longer the controller."""
        fence = Check(znodes.CONTROLLER_EPOCH, self._require_term().version)
        try:
            await self._metadata.write([fence, *ops])
        except MultiFailed as failed:
            if failed.index == 0:
                self.step_down()
            raise

    def _circumstances(self) -> Circumstances:
        term = self._require_term()
        return Circumstances(self._metadata.image, self._live.now, term.epoch)

    def _require_term(self) -> _Term:
        if self._term is None:
            raise ApiError(ErrorCode.NOT_CONTROLLER, "this broker is not the controller")
        return self._term

    async def carry_out(
        self, decide: Callable[[], Decision[R]], validate_only: bool = False
    ) -> Sequence[R]:
        """Writes what is decided, in one step that fails if this broker is no longer the controller."""
        for _ in range(MAX_ATTEMPTS):
            self._require_term()
            decision = decide()
            if validate_only or not decision.ops:
                return decision.results
            try:
                await self.write(decision.ops)
            except MultiFailed as failed:
                # Somebody else's write came first: decide again on what it left.
                log.debug("decision overtaken", by=failed)
                await self._metadata.caught_up()
            else:
                return decision.results
        raise ApiError(
            ErrorCode.REQUEST_TIMED_OUT,
            f"other changes came first {MAX_ATTEMPTS} times in a row; try again",
        )


def _ids() -> Iterator[uuid.UUID]:
    while True:
        yield new_topic_id()
