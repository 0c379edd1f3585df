"""Commits that come again: known by their bytes, and carried out together once all that has arrived is read.

What consumers do all day. The bytes of such a request around its offset are looked up, and what they say is known. The
first of each turn of the loop is carried out at once, so that a lone client does not wait for others.
"""

from __future__ import annotations

import asyncio
from struct import Struct
from time import perf_counter
from typing import TYPE_CHECKING, Final

from ottla.base.log import logger
from ottla.broker import metrics
from ottla.broker.context import RequestContext
from ottla.broker.reply import HELD, Reply
from ottla.coordination.metrics import OFFSET_COMMITS
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.header import answer_again

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from ottla.broker.connection import Connection
    from ottla.broker.context import Broker
    from ottla.broker.repeated_commits import RepeatedCommit

    # Who asks, by which number its answer is known, and what it commits.
    _Asked: TypeAlias = tuple[Connection, int, RepeatedCommit]

log = logger(__name__)

FIRST_VERSION: Final = 6
FIRST_FLEXIBLE: Final = 8
LARGEST: Final = 1024
"""A request of more bytes is not remembered."""

_KEY: Final = int(ApiKey.OFFSET_COMMIT)
_MOST_KNOWN: Final = 4096
_HEAD: Final = Struct(">hhi")
# What follows a partition's number: offset, leader epoch, then no metadata (null or empty) and, where the request is
# flexible, no tagged fields of the partition, of its topic and of the request.
_PLAIN: Final = Struct(">qih"), (0, -1)
_FLEXIBLE: Final = Struct(">qiI"), (0x01_000000, 0x00_000000)
_SMALLEST: Final = _HEAD.size + _FLEXIBLE[0].size


class CommitsTogether:
    """The commits that a broker knows, and those of this turn of the loop."""

    __slots__ = ("_broker", "_duration", "_known", "_requests", "_turn_has_commits", "_waiting")

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._known: dict[bytes, RepeatedCommit] = {}
        self._waiting: list[_Asked] = []
        self._turn_has_commits = False
        name = ApiKey.OFFSET_COMMIT.api_name
        self._requests = metrics.REQUESTS.labels(api=name)
        self._duration = metrics.REQUEST_SECONDS.labels(api=name)

    def remember(self, frame: memoryview, commit: RepeatedCommit) -> None:
        """Keep what a request says, in case it comes again."""
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        end, _ = _FLEXIBLE if commit.version >= FIRST_FLEXIBLE else _PLAIN
        self._known[bytes(frame[_HEAD.size : len(frame) - end.size])] = commit

    def take(self, connection: Connection, frame: memoryview) -> Reply:
        """The reply to a request that came before with another offset; None to any other.

        Two of the same in one turn, on two connections, are not told apart here: the second is done as any other.
        """
        size = len(frame)
        if not _SMALLEST <= size <= LARGEST:
            return None
        key, version, correlation_id = _HEAD.unpack_from(frame)
        end, nothings = _FLEXIBLE if version >= FIRST_FLEXIBLE else _PLAIN
        begin = size - end.size
        commit = self._known.get(bytes(frame[_HEAD.size : begin]))
        if commit is None or commit.version != version or key != _KEY or commit.waits:
            return None
        offset, leader_epoch, nothing = end.unpack_from(frame, begin)
        if nothing not in nothings:
            return None
        topic = commit.topic
        # The topic may have been deleted since, or made anew.
        if self._broker.metadata.image.topics.get(topic.name) is not topic:
            return None
        commit.position.committed_offset = offset
        commit.position.committed_leader_epoch = leader_epoch
        commit.waits = True
        if self._turn_has_commits:
            self._waiting.append((connection, correlation_id, commit))
            return HELD
        self._turn_has_commits = True
        asyncio.get_running_loop().call_soon(self._end_turn)
        [reply] = self._carry_out([(connection, correlation_id, commit)])
        return reply

    def _end_turn(self) -> None:
        """Carry out whatever has come in this turn, and let its connections go on."""
        self._turn_has_commits = False
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        try:
            replies = self._carry_out(waiting)
        except Exception:
            # Nobody foresaw it: whoever waits sees a hang-up, and does not wait for good.
            metrics.UNEXPECTED_FAILURES.value += 1
            log.exception("commits failed", commits=len(waiting))
            for connection, _, _ in waiting:
                connection.abort()
            return
        for (connection, _, _), reply in zip(waiting, replies, strict=True):
            connection.answer(reply)

    def _carry_out(self, asked: Sequence[_Asked]) -> list[Reply]:
        began = perf_counter()
        others = self._broker.groups.write_together([commit.again for _, _, commit in asked])
        replies: list[Reply] = [answer_again(commit.answer, number) for _, number, commit in asked]
        if others:
            replies = [
                self._ask(*each) if each[2].again in others else reply
                for each, reply in zip(asked, replies, strict=True)
            ]
        ended = perf_counter()
        for connection, _, commit in asked:
            connection.last_active = ended
            commit.waits = False
        OFFSET_COMMITS.value += len(asked) - len(others)
        self._requests.value += len(asked)
        self._duration.observe_together(ended - began, len(asked))
        return replies

    def _ask(self, connection: Connection, correlation_id: int, commit: RepeatedCommit) -> Reply:
        """Have a commit done as any other; if that fails in a way nobody foresaw, the client sees a hang-up."""
        context = RequestContext(
            self._broker, connection, commit.version, correlation_id, commit.client_id
        )
        try:
            return commit.ask(context)
        except Exception:
            context.log_failure()
            connection.abort()
            return None
