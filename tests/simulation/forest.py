"""ZooKeeper in memory: one tree, a session for each broker, events that come late, writes whose outcome is unknown."""

import asyncio
import random
from collections.abc import Sequence
from functools import partial

from ottla.cluster.transaction import Applied, Node, Transaction
from ottla.cluster.tree import (
    ANY_VERSION,
    Cancel,
    Create,
    Delete,
    EventCallback,
    MultiFailed,
    NodeExists,
    NoNode,
    Op,
    OutcomeUnknown,
    SessionCallback,
    SessionLost,
    SessionState,
    Set,
    Stat,
    TreeEvent,
    TreeUnavailable,
    is_at_or_below,
)


class Forest:
    """The ensemble: it never fails itself, but brokers lose it."""

    def __init__(self, rng: random.Random, session_timeout_s: float) -> None:
        self.rng = rng
        self.session_timeout_s = session_timeout_s
        self.nodes: dict[str, Node] = {"/": Node(b"", 0, 0, 0, 0, 0, 0)}
        self.zxid = 0
        self.handles: list[SimTree] = []
        self._sessions = 0

    def new_session(self) -> int:
        self._sessions += 1
        return self._sessions

    def commit(self, session_id: int, ops: Sequence[Op]) -> list[Applied]:
        """All or nothing, at this instant; everybody who is connected hears of it later."""
        transaction = Transaction(self.nodes, self.zxid, session_id)
        applied = transaction.multi(ops)
        self.zxid = transaction.zxid
        for path, node in transaction.changed.items():
            if node is None:
                del self.nodes[path]
            else:
                self.nodes[path] = node
        events = [TreeEvent(path) for path in transaction.changed]
        for handle in self.handles:
            handle.notice(events)
        return applied

    def expire(self, session_id: int) -> None:
        """The ephemeral nodes of a session go."""
        gone = [path for path, node in self.nodes.items() if node.ephemeral_owner == session_id]
        for path in gone:
            self.commit(0, [Delete(path)])


class SimTree:
    """One broker's session with the forest; see `ottla.cluster.tree.Tree`."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self.session_id = forest.new_session()
        self.state = SessionState.CONNECTED
        self._watches: list[tuple[str, EventCallback]] = []
        self._session_watches: list[SessionCallback] = []
        self._pending: list[TreeEvent] = []
        self._expiry: asyncio.TimerHandle | None = None
        self._dead = False
        forest.handles.append(self)

    # --- what happens to it

    def cut(self) -> None:
        """The connection breaks; after a while the session ends."""
        if self.state is SessionState.CONNECTED and not self._dead:
            loop = asyncio.get_running_loop()
            self._expiry = loop.call_later(self._forest.session_timeout_s, self._expire)
            self._become(SessionState.SUSPENDED)

    def heal(self) -> None:
        """The connection is back, with the same session or with another."""
        if self._dead or self.state is SessionState.CONNECTED:
            return
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        if self.state is SessionState.LOST:
            self.session_id = self._forest.new_session()
        self._pending = [TreeEvent("/", subtree=True)]
        self._become(SessionState.CONNECTED)
        self._flush()

    def die(self) -> None:
        """The process is gone; the forest finds out when the session ends."""
        self._dead = True
        self._watches.clear()
        self._session_watches.clear()
        self._forest.handles.remove(self)
        if self._expiry is None:
            loop = asyncio.get_running_loop()
            loop.call_later(self._forest.session_timeout_s, self._forest.expire, self.session_id)

    def _expire(self) -> None:
        self._forest.expire(self.session_id)
        if not self._dead:
            self._become(SessionState.LOST)

    def _become(self, state: SessionState) -> None:
        self.state = state
        for callback in tuple(self._session_watches):
            callback(state)

    # --- events

    def notice(self, events: list[TreeEvent]) -> None:
        if self.state is not SessionState.CONNECTED:
            return  # after a reconnect everything is read again
        self._pending += events
        loop = asyncio.get_running_loop()
        loop.call_later(self._forest.rng.uniform(0.0005, 0.01), self._flush)

    def _flush(self) -> None:
        events, self._pending = self._pending, []
        for prefix, callback in tuple(self._watches):
            heard = [
                each
                for each in events
                if is_at_or_below(each.path, prefix) or (each.subtree and each.path == "/")
            ]
            if heard:
                callback(heard)

    # --- the interface

    async def _turn(self) -> None:
        if self._dead:
            await asyncio.sleep(3600)
        await asyncio.sleep(self._forest.rng.uniform(0.0003, 0.004))
        if self.state is not SessionState.CONNECTED:
            raise TreeUnavailable("the tree cannot be reached")

    async def get(self, path: str) -> tuple[bytes, Stat]:
        await self._turn()
        node = self._forest.nodes.get(path)
        if node is None:
            raise NoNode(path)
        return node.data, node.stat

    async def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        if not paths:
            return []
        await self._turn()
        found = map(self._forest.nodes.get, paths)
        return [None if node is None else (node.data, node.stat) for node in found]

    async def exists(self, path: str) -> Stat | None:
        await self._turn()
        node = self._forest.nodes.get(path)
        return None if node is None else node.stat

    async def children(self, path: str) -> list[str]:
        await self._turn()
        if path not in self._forest.nodes:
            raise NoNode(path)
        start = path.rstrip("/") + "/"
        below = (each[len(start) :] for each in self._forest.nodes if each.startswith(start))
        return sorted(each for each in below if each and "/" not in each)

    async def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequence: bool = False,
        make_parents: bool = False,
    ) -> str:
        if make_parents:
            names = path.split("/")
            for end in range(2, len(names)):
                above = "/".join(names[:end])
                if above not in self._forest.nodes:
                    try:
                        await self._single(Create(above))
                    except NodeExists:
                        continue
        return (await self._single(Create(path, data, ephemeral, sequence))).path

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
        node = (await self._single(Set(path, data, version))).node
        assert node is not None
        return node.stat

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        await self._single(Delete(path, version))

    async def multi(self, ops: Sequence[Op]) -> list[str]:
        return [applied.path for applied in await self._apply(ops)]

    async def _single(self, op: Op) -> Applied:
        try:
            return (await self._apply((op,)))[0]
        except MultiFailed as failed:
            raise failed.error from None

    async def _apply(self, ops: Sequence[Op]) -> list[Applied]:
        await self._turn()
        applied = self._forest.commit(self.session_id, ops)
        await asyncio.sleep(self._forest.rng.uniform(0.0001, 0.002))
        if self._dead:
            await asyncio.sleep(3600)
        if self.state is not SessionState.CONNECTED:
            raise OutcomeUnknown("the connection broke before the answer came")
        self._flush()
        return applied

    def watch(self, prefix: str, callback: EventCallback) -> Cancel:
        entry = (prefix, callback)
        self._watches.append(entry)
        return partial(_discard, self._watches, entry)

    def watch_session(self, callback: SessionCallback) -> Cancel:
        self._session_watches.append(callback)
        callback(self.state)
        return partial(_discard, self._session_watches, callback)

    async def close(self) -> None:
        if not self._dead:
            self._forest.expire(self.session_id)
            self.die()
        if self.state is SessionState.LOST:
            raise SessionLost("closed")


def _discard(entries: list, entry: object) -> None:  # type: ignore[type-arg]
    if entry in entries:
        entries.remove(entry)
