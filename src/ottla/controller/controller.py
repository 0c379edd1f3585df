"""The controller: decides on the newest image, writes in one fenced step, decides anew if it lost.

Every write carries a check of `/controller_epoch`: a controller that was replaced while it decided
changes nothing, and answers NOT_CONTROLLER.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from ottla.base.errors import ApiError
from ottla.base.ids import new_topic_id
from ottla.base.log import logger
from ottla.cluster import znodes
from ottla.cluster.metadata import Metadata
from ottla.cluster.tree import Check, Create, MultiFailed, NoNode, Op, Set
from ottla.config.live import LiveSettings
from ottla.controller.configs import decide_configs
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
    decide_partitions,
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
        self._start = 0

    async def elect(self, now_ms: int) -> bool:
        """Tries to become the controller, in one step that also begins a new epoch."""
        tree = self._metadata.tree
        count: Op
        try:
            data, stat = await tree.get(znodes.CONTROLLER_EPOCH)
            epoch = znodes.decode_number(znodes.CONTROLLER_EPOCH, data) + 1
            term = _Term(epoch, stat.version + 1)
            count = Set(znodes.CONTROLLER_EPOCH, znodes.encode_number(epoch), stat.version)
        except NoNode:
            term = _Term(1, 0)
            count = Create(znodes.CONTROLLER_EPOCH, znodes.encode_number(1))
        claim = znodes.encode_controller(self._broker_id, now_ms)
        try:
            await self._metadata.write([Create(znodes.CONTROLLER, claim, ephemeral=True), count])
        except MultiFailed as failed:
            log.info("another broker is the controller", found=failed)
            return False
        self._term = term
        log.info("controller elected", broker=self._broker_id, epoch=term.epoch)
        return True

    async def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False
    ) -> Sequence[TopicResult]:
        """Makes topics; they can be used when this returns."""

        def decide() -> Decision[TopicResult]:
            return decide_create(self._circumstances(), topics, _ids(), self._start)

        results = await self._carry_out(decide, validate_only)
        if not validate_only:
            for made in (r for r in results if r.error is ErrorCode.NONE):
                self._start += made.partitions
                log.info("topic created", topic=made.name, partitions=made.partitions)
        return results

    async def delete_topics(self, references: Sequence[TopicRef]) -> Sequence[TopicResult]:
        """Deletes topics by name or id."""
        results = await self._carry_out(lambda: decide_delete(self._circumstances(), references))
        for gone in (r for r in results if r.error is ErrorCode.NONE):
            log.info("topic deleted", topic=gone.name, topic_id=gone.topic_id)
        return results

    async def create_partitions(
        self, requests: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> Sequence[TopicResult]:
        """Gives topics more partitions."""
        results = await self._carry_out(
            lambda: decide_partitions(self._circumstances(), requests), validate_only
        )
        for grown in (r for r in results if r.error is ErrorCode.NONE and not validate_only):
            log.info("partitions created", topic=grown.name, partitions=grown.partitions)
        return results

    async def alter_configs(
        self, alterations: Sequence[ConfigAlteration], *, validate_only: bool = False
    ) -> Sequence[ConfigResult]:
        """Changes the settings of topics, of brokers, or of all brokers."""

        def decide() -> Decision[ConfigResult]:
            static, image = self._live.overlay.settings, self._metadata.image
            return decide_configs(image, static, self._live.now.log, alterations)

        return await self._carry_out(decide, validate_only)

    def _circumstances(self) -> Circumstances:
        term = self._require_term()
        return Circumstances(self._metadata.image, self._live.now, term.epoch)

    def _require_term(self) -> _Term:
        if self._term is None:
            raise ApiError(ErrorCode.NOT_CONTROLLER, "this broker is not the controller")
        return self._term

    async def _carry_out(
        self, decide: Callable[[], Decision[R]], validate_only: bool = False
    ) -> Sequence[R]:
        fence = Check(znodes.CONTROLLER_EPOCH, self._require_term().version)
        for _ in range(MAX_ATTEMPTS):
            decision = decide()
            if validate_only or not decision.ops:
                return decision.results
            try:
                await self._metadata.write([fence, *decision.ops])
            except MultiFailed as failed:
                if failed.index == 0:
                    self._step_down()
                # Somebody else's write came first: decide again on what it left.
                log.debug("decision overtaken", by=failed)
                await self._metadata.caught_up()
            else:
                return decision.results
        raise ApiError(
            ErrorCode.REQUEST_TIMED_OUT,
            f"other changes came first {MAX_ATTEMPTS} times in a row; try again",
        )

    def _step_down(self) -> None:
        log.warning("another broker became the controller", broker=self._broker_id)
        self._term = None
        self._require_term()


def _ids() -> Iterator[uuid.UUID]:
    while True:
        yield new_topic_id()
