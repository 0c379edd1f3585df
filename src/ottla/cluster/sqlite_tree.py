"""The embedded engine of the metadata tree: one SQLite file and a copy of all of it in memory.

Reads are answered from memory. Writes are queued; one thread validates and commits all that has
gathered as one SQLite transaction, and only then do memory, watches and awaiters learn of it. The
session lasts as long as the tree is open: what was ephemeral is removed at the next opening.
"""

import asyncio
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from ottla.base.errors import ClusterError
from ottla.base.log import logger
from ottla.cluster.transaction import Applied, Node, Transaction
from ottla.cluster.tree import (
    ANY_VERSION,
    Cancel,
    Create,
    Delete,
    EventCallback,
    MultiFailed,
    NoNode,
    Op,
    OutcomeUnknown,
    SessionCallback,
    SessionLost,
    SessionState,
    Set,
    Stat,
    TreeEvent,
    check_path,
    is_at_or_below,
    parent_of,
)

log = logger(__name__)

_Entry = TypeVar("_Entry")

_SCHEMA_VERSION: Final = 1
_SCHEMA: Final = """
    CREATE TABLE nodes (
        path TEXT PRIMARY KEY, data BLOB NOT NULL, version INTEGER NOT NULL,
        cversion INTEGER NOT NULL, czxid INTEGER NOT NULL, mzxid INTEGER NOT NULL,
        ephemeral_owner INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE tree (zxid INTEGER NOT NULL);
    INSERT INTO nodes VALUES ('/', x'', 0, 0, 0, 0, 0);
    INSERT INTO tree VALUES (0);
"""
_SELECT: Final = "SELECT path, data, version, cversion, czxid, mzxid, ephemeral_owner FROM nodes"
_UPSERT: Final = "INSERT OR REPLACE INTO nodes VALUES (?, ?, ?, ?, ?, ?, ?)"
_DELETE: Final = "DELETE FROM nodes WHERE path = ?"


class _Request(NamedTuple):
    """A multi that waits to be written."""

    ops: Sequence[Op]
    done: asyncio.Future[list[Applied]]


class _Written(NamedTuple):
    """What came of a batch of requests once it was committed."""

    outcomes: list[list[Applied] | MultiFailed]
    transaction: Transaction


class _Memory:
    """All nodes by path, and the names of the children of those that have any."""

    __slots__ = ("children", "nodes")

    def __init__(self, rows: list[tuple[str, bytes, int, int, int, int, int]]) -> None:
        self.children: dict[str, set[str]] = {}
        for row in rows:
            parent, _, name = row[0].rpartition("/")
            if name:
                self.children.setdefault(parent or "/", set()).add(name)
        count = self.children.get
        self.nodes = {
            path: Node(data, version, cversion, czxid, mzxid, owner, len(count(path, ())))
            for path, data, version, cversion, czxid, mzxid, owner in rows
        }

    def merge(self, transaction: Transaction) -> list[str]:
        """Takes over what a transaction changed; returns where a node came, went or was set."""
        moved = []
        for path, node in transaction.changed.items():
            if _differs(self.nodes.get(path), node):
                self._index(path, node)
                moved.append(path)
            if node is None:
                self.nodes.pop(path, None)
            else:
                self.nodes[path] = node
        return moved

    def _index(self, path: str, node: Node | None) -> None:
        parent, name = parent_of(path), path[path.rindex("/") + 1 :]
        if node is None:
            # The parent may have gone first: a transaction lists its nodes as it met them.
            self.children.get(parent, set()).discard(name)
            self.children.pop(path, None)
        elif path != "/":
            self.children.setdefault(parent, set()).add(name)


def open_tree(path: Path) -> "SqliteTree":
    """Opens or makes the tree in a file; whoever calls holds the lock of the directory."""
    # Transactions are begun by hand, and the connection moves to the writer's thread once open.
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        _prepare(connection)
        memory = _Memory(connection.execute(_SELECT).fetchall())
        (zxid,) = connection.execute("SELECT zxid FROM tree").fetchone()
        # The first step of a session removes what the last one left, and gives the session its id.
        opening = Transaction(memory.nodes, zxid, zxid + 1)
        opening.multi([Delete(p) for p, node in memory.nodes.items() if node.ephemeral_owner])
        _store(connection, opening)
    except (sqlite3.Error, ClusterError) as error:
        connection.close()
        raise ClusterError(
            f"{path}: the metadata cannot be opened ({error}); restore it from a backup"
        ) from error
    memory.merge(opening)
    return SqliteTree(connection, memory, opening.zxid)


class SqliteTree:
    """A Tree for one broker; see `ottla.cluster.tree.Tree` for what each method promises."""

    def __init__(self, connection: sqlite3.Connection, memory: _Memory, session_id: int) -> None:
        self._connection = connection
        self._memory = memory
        self._nodes = memory.nodes
        self.session_id = session_id
        self.state = SessionState.CONNECTED
        self._zxid = session_id
        self._queue: list[_Request] = []
        self._writing = False
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="metadata")
        self._watches: list[tuple[str, EventCallback]] = []
        self._session_watches: list[SessionCallback] = []

    # Reads: from memory, at once.

    async def get(self, path: str) -> tuple[bytes, Stat]:
        self._require_session()
        node = self._nodes.get(path)
        if node is None:
            raise NoNode(path)
        return node.data, node.stat

    async def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        self._require_session()
        found = map(self._nodes.get, paths)
        return [None if node is None else (node.data, node.stat) for node in found]

    async def exists(self, path: str) -> Stat | None:
        self._require_session()
        node = self._nodes.get(path)
        return None if node is None else node.stat

    async def children(self, path: str) -> list[str]:
        self._require_session()
        if path not in self._nodes:
            raise NoNode(path)
        return sorted(self._memory.children.get(path, ()))

    # Writes: queued, committed in a thread, then shown.

    async def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequence: bool = False,
        make_parents: bool = False,
    ) -> str:
        above = self._make_parents(path) if make_parents else ()
        try:
            return (await self._single(Create(path, data, ephemeral, sequence))).path
        finally:
            # Those that others made meanwhile are there all the same.
            await asyncio.gather(*above, return_exceptions=True)

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
        node = (await self._single(Set(path, data, version))).node
        assert node is not None
        return node.stat

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        await self._single(Delete(path, version))

    async def multi(self, ops: Sequence[Op]) -> list[str]:
        return [applied.path for applied in await self._apply(ops)]

    # Watches and the session.

    def watch(self, prefix: str, callback: EventCallback) -> Cancel:
        entry = (prefix, callback)
        self._watches.append(entry)
        return partial(_discard, self._watches, entry)

    def watch_session(self, callback: SessionCallback) -> Cancel:
        self._session_watches.append(callback)
        callback(self.state)
        return partial(_discard, self._session_watches, callback)

    async def close(self) -> None:
        if self.state is SessionState.LOST:
            return
        self.state = SessionState.LOST
        await self._enqueue(())
        await asyncio.get_running_loop().run_in_executor(self._writer, self._connection.close)
        self._writer.shutdown()
        for callback in tuple(self._session_watches):
            callback(self.state)

    def _require_session(self) -> None:
        if self.state is SessionState.LOST:
            raise SessionLost("the metadata tree is closed")

    async def _apply(self, ops: Sequence[Op]) -> list[Applied]:
        self._require_session()
        for op in ops:
            if isinstance(op, Create | Delete):
                check_path(op.path)
        return await self._enqueue(ops)

    async def _single(self, op: Op) -> Applied:
        try:
            return (await self._apply((op,)))[0]
        except MultiFailed as failed:
            raise failed.error from None

    def _make_parents(self, path: str) -> list[asyncio.Future[list[Applied]]]:
        """Asks for all that is missing above a node, ahead of the node itself and to be committed with it."""
        self._require_session()
        check_path(path)
        names = path.split("/")
        above = ("/".join(names[:end]) for end in range(2, len(names)))
        return [self._enqueue((Create(each),)) for each in above if each not in self._nodes]

    def _enqueue(self, ops: Sequence[Op]) -> asyncio.Future[list[Applied]]:
        done: asyncio.Future[list[Applied]] = asyncio.get_running_loop().create_future()
        self._queue.append(_Request(ops, done))
        # What is asked for in one turn of the loop is one commit, and waits for the disk once.
        asyncio.get_running_loop().call_soon(self._write_next)
        return done

    def _write_next(self) -> None:
        if self._writing or not self._queue:
            return
        batch, self._queue = self._queue, []
        self._writing = True
        loop = asyncio.get_running_loop()
        writing = loop.run_in_executor(self._writer, self._write, batch)
        writing.add_done_callback(partial(self._written, batch))

    def _write(self, batch: list[_Request]) -> _Written:
        """Validates and commits; runs in the writer's thread and only reads what the loop owns."""
        transaction = Transaction(self._nodes, self._zxid, self.session_id)
        outcomes = [_outcome(transaction, request.ops) for request in batch]
        if transaction.changed:
            _store(self._connection, transaction)
        return _Written(outcomes, transaction)

    def _written(self, batch: list[_Request], writing: asyncio.Future[_Written]) -> None:
        self._writing = False
        outcomes: Sequence[list[Applied] | ClusterError]
        try:
            written = writing.result()
            self._show(written.transaction)
            outcomes = written.outcomes
        except Exception as error:  # whatever it was, nobody may be left waiting
            log.error("metadata write failed", error=repr(error), writes=len(batch))
            outcomes = [_unknown(error) for _ in batch]
        for request, outcome in zip(batch, outcomes, strict=True):
            _resolve(request.done, outcome)
        self._write_next()

    def _show(self, transaction: Transaction) -> None:
        moved = self._memory.merge(transaction)
        self._zxid = transaction.zxid
        for prefix, callback in tuple(self._watches):
            events = [TreeEvent(path) for path in moved if is_at_or_below(path, prefix)]
            if events:
                callback(events)


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    # A topic that was answered for exists after a power cut too: whatever is flushed to its log is found again.
    connection.execute("PRAGMA synchronous = FULL")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > _SCHEMA_VERSION:
        raise ClusterError("it was written by a newer ottla")
    if version < _SCHEMA_VERSION:
        connection.executescript(
            f"BEGIN; {_SCHEMA} PRAGMA user_version = {_SCHEMA_VERSION}; COMMIT;"
        )


def _store(connection: sqlite3.Connection, transaction: Transaction) -> None:
    """Commits what a transaction changed as one step; on failure nothing of it remains."""
    changed = transaction.changed.items()
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.executemany(
            _UPSERT, ((path, *node[:6]) for path, node in changed if node is not None)
        )
        connection.executemany(_DELETE, ((path,) for path, node in changed if node is None))
        connection.execute("UPDATE tree SET zxid = ?", (transaction.zxid,))
        connection.execute("COMMIT")
    except BaseException:
        # SQLite may already have rolled back by itself, as it does when the disk is full.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _differs(before: Node | None, after: Node | None) -> bool:
    """Tells a node that came, went or was set from a parent that merely gained or lost children."""
    if before is None or after is None:
        return before is not after
    return (before.czxid, before.mzxid) != (after.czxid, after.mzxid)


def _outcome(transaction: Transaction, ops: Sequence[Op]) -> list[Applied] | MultiFailed:
    try:
        return transaction.multi(ops)
    except MultiFailed as failed:
        return failed


def _resolve(done: asyncio.Future[list[Applied]], outcome: list[Applied] | ClusterError) -> None:
    if done.done():  # whoever waited was cancelled
        return
    if isinstance(outcome, ClusterError):
        done.set_exception(outcome)
    else:
        done.set_result(outcome)


def _unknown(error: BaseException) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"the metadata could not be written: {error}; free space or mend the disk"
    )


def _discard(entries: list[_Entry], entry: _Entry) -> None:
    if entry in entries:
        entries.remove(entry)
