"""The engine of a cluster's metadata tree: ZooKeeper 3.6 or newer, through kazoo.

Each time a connection is made, three things happen before anybody may read or write: a `sync`, so
that a server which lags behind shows nothing older than what was seen (kazoo forgets the last zxid
with its session) and a write left without an answer is decided; the one watch is set; and those who
watch are told that anything may have changed. The state is CONNECTED only after that.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from kazoo.exceptions import (
    ConnectionLoss,
    KazooException,
    NoAuthError,
    NodeExistsError,
    UnimplementedError,
)

from ottla.base.errors import ClusterError
from ottla.base.log import logger
from ottla.cluster.session import Session
from ottla.cluster.tree import (
    ANY_VERSION,
    Cancel,
    Create,
    Delete,
    EventCallback,
    NodeExists,
    NoNode,
    Op,
    SessionCallback,
    SessionLost,
    SessionState,
    Set,
    Stat,
    TreeEvent,
    TreeUnavailable,
    check_path,
    is_at_or_below,
    parent_of,
)
from ottla.cluster.zookeeper_client import ZookeeperClient, monotonic_ms
from ottla.cluster.zookeeper_requests import (
    Requests,
    multi_failure,
    read_failure,
    stat_of,
    unknown,
    write_failure,
)

log = logger(__name__)

_Entry = TypeVar("_Entry")

_NODES_PER_READ: Final = 500
"""Some 40 KB of request, and not too long a turn of the server."""
_PAUSE_S: Final = 1.0


class ZookeeperOptions(NamedTuple):
    """Where ZooKeeper is and how it is spoken to; `auth` is a scheme and a credential."""

    hosts: str
    chroot: str = ""
    session_timeout_ms: int = 18_000
    connection_timeout_ms: int = 18_000
    auth: tuple[str, str] | None = None
    set_acl: bool = False


async def open_tree(options: ZookeeperOptions) -> "ZookeeperTree":
    """Connects, and makes the chroot if need be; ClusterError says why that cannot be done."""
    tree = ZookeeperTree(options)
    try:
        await tree.open()
    except BaseException:
        await tree.close()
        raise
    return tree


class ZookeeperTree:
    """A Tree for a cluster; see `ottla.cluster.tree.Tree` for what each method promises."""

    def __init__(self, options: ZookeeperOptions) -> None:
        self._options = options
        self._requests = Requests(options.chroot, protected=options.set_acl)
        self._client = ZookeeperClient(
            options.hosts, options.session_timeout_ms, self, options.auth
        )
        self._session = Session()
        self._told = SessionState.LOST
        self._ready = False
        self._closed = False
        self._resuming: asyncio.Task[None] | None = None
        self._lease: asyncio.TimerHandle | None = None
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._watches: list[tuple[str, EventCallback]] = []
        self._session_watches: list[SessionCallback] = []

    async def open(self) -> None:
        """Connects for the first time; ClusterError if that takes too long, or cannot be."""
        self._client.start()
        try:
            async with asyncio.timeout(self._options.connection_timeout_ms / 1000):
                await self._opened
        except TimeoutError:
            raise ClusterError(
                f"ZooKeeper at {self._options.hosts} cannot be reached within "
                f"{self._options.connection_timeout_ms} ms "
                f"({self._client.trouble or 'no answer'}); check zookeeper.connect, and that the "
                "servers run"
            ) from None

    @property
    def session_id(self) -> int:
        return self._session.session_id

    @property
    def state(self) -> SessionState:
        self._session.heard(self._client.heard_at_ms)
        state = self._session.tick(monotonic_ms())
        if state is SessionState.CONNECTED and not self._ready:
            return self._told  # the connection is there, but not yet what makes it good
        return state

    # Reads.

    async def get(self, path: str) -> tuple[bytes, Stat]:
        data, stat = await self._read(path, self._requests.get(path))
        return data or b"", stat_of(stat)

    async def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        starts = range(0, len(paths), _NODES_PER_READ)
        parts = [paths[start : start + _NODES_PER_READ] for start in starts]
        reads = [self._read(part[0], self._requests.get_many(part)) for part in parts]
        return [node for nodes in await asyncio.gather(*reads) for node in nodes]

    async def exists(self, path: str) -> Stat | None:
        stat = await self._read(path, self._requests.exists(path))
        return None if stat is None else stat_of(stat)

    async def children(self, path: str) -> list[str]:
        return sorted(await self._read(path, self._requests.children(path)))

    async def _read(self, path: str, request: Any) -> Any:
        self._require_connection()
        try:
            return await self._client.call(request)
        except Exception as error:
            raise read_failure(path, error) from error

    # Writes.

    async def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequence: bool = False,
        make_parents: bool = False,
    ) -> str:
        op = Create(path, data, ephemeral, sequence)
        try:
            return self._requests.path(await self._write(op))
        except NoNode:
            if not make_parents:
                raise
        with suppress(NodeExists):  # another broker was faster
            await self.create(parent_of(path), make_parents=True)
        return self._requests.path(await self._write(op))

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
        return stat_of(await self._write(Set(path, data, version)))

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        await self._write(Delete(path, version))

    async def _write(self, op: Op) -> Any:
        self._require_connection()
        _check(op)
        self._requests.check_size([op])
        try:
            return await self._client.call(self._requests.write(op))
        except Exception as error:
            raise write_failure(op, error) from error

    async def multi(self, ops: Sequence[Op]) -> list[str]:
        self._require_connection()
        for op in ops:
            _check(op)
        if not ops:
            return []
        try:
            results = await self._client.call(self._requests.multi(ops))
        except KazooException as error:
            raise unknown(error) from error
        failed = multi_failure(ops, results)
        if failed is not None:
            raise failed
        made = zip(ops, results, strict=True)
        return [self._requests.path(r) if isinstance(op, Create) else op.path for op, r in made]

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
        if self._closed:
            return
        self._closed = True
        await self._client.close()
        self._stop_resuming()
        if self._lease is not None:
            self._lease.cancel()
        self._session.expired()
        self._tell()

    def _require_connection(self) -> None:
        if self._closed:
            raise SessionLost("the metadata tree is closed")
        if self.state is not SessionState.CONNECTED:
            why = self._client.trouble or "the connection is being made"
            raise TreeUnavailable(f"ZooKeeper cannot be reached now ({why}); it is tried again")

    # What the client tells, on the loop.

    def connected(self, session_id: int, timeout_ms: int, sent_ms: int) -> None:
        if self._closed:
            return
        if session_id != self._session.session_id:
            self._session.expired()  # another session: whoever counted on the last one hears of it
            self._tell()
        self._session.connected(session_id, timeout_ms, sent_ms)
        self._stop_resuming()
        self._resuming = asyncio.create_task(self._resume(), name="zookeeper-resume")

    def disconnected(self, *, expired: bool) -> None:
        self._ready = False
        self._stop_resuming()
        if expired:
            self._session.expired()
        else:
            self._session.disconnected(monotonic_ms())
        self._tell()

    def changed(self, paths: list[str]) -> None:
        found = [self._requests.path(path) for path in paths]
        for prefix, callback in tuple(self._watches):
            events = [TreeEvent(path) for path in found if is_at_or_below(path, prefix)]
            if events:
                callback(events)

    async def _resume(self) -> None:
        """Makes a connection good, and only then tells of it; a failure waits for the next one."""
        try:
            await self._make_chroot()
            requests = self._requests.sync(), self._requests.watch()
            await asyncio.gather(*map(self._client.call, requests))
        except Exception as error:
            self._refused(error)
            return
        self._ready = True
        self._guard_lease()
        self._tell()
        for prefix, callback in tuple(self._watches):
            callback([TreeEvent(prefix, subtree=True)])
        if not self._opened.done():
            self._opened.set_result(None)

    async def _make_chroot(self) -> None:
        names = self._options.chroot.split("/")[1:]
        above = Requests("", protected=False)
        for depth in range(1, len(names) + 1):
            path = "/" + "/".join(names[:depth])
            if await self._client.call(above.exists(path)) is None:
                try:
                    await self._client.call(above.write(Create(path)))
                except NodeExistsError:
                    continue

    def _refused(self, error: Exception) -> None:
        if isinstance(error, ConnectionLoss):
            return
        log.warning("zookeeper did not let the session begin", error=repr(error))
        asyncio.get_running_loop().call_later(_PAUSE_S, self._client.hang_up)
        if self._opened.done():
            return
        if isinstance(error, UnimplementedError):
            why = "its servers are too old: 3.6 or newer is needed"
        elif isinstance(error, NoAuthError):
            why = (
                f"its ACL does not let this broker use {self._options.chroot or '/'}; give it the "
                "credentials of whoever may (ottla.zookeeper.auth), or change the ACL"
            )
        else:
            why = f"it answered {type(error).__name__} when the session was to begin"
        self._opened.set_exception(ClusterError(f"ZooKeeper at {self._options.hosts}: {why}"))

    def _stop_resuming(self) -> None:
        if self._resuming is not None:
            self._resuming.cancel()
            self._resuming = None

    def _guard_lease(self) -> None:
        """Looks again when the session would end if nothing more were heard."""
        if self._lease is not None:
            self._lease.cancel()
        left_s = (self._session.ends_ms - monotonic_ms()) / 1000
        loop = asyncio.get_running_loop()
        self._lease = loop.call_later(max(left_s, 0.001), self._lease_ended)

    def _lease_ended(self) -> None:
        self._tell()
        if self._told is not SessionState.LOST:
            self._guard_lease()
        elif self._ready:
            # As after a long sleep of the process: the connection looks sound, and may even be.
            self._ready = False
            self._client.hang_up()

    def _tell(self) -> None:
        state = self.state
        if state is self._told:
            return
        self._told = state
        log.info("zookeeper session", state=state.value, session=f"{self.session_id:#x}")
        for callback in tuple(self._session_watches):
            callback(state)


def _check(op: Op) -> None:
    if isinstance(op, Create | Delete):
        check_path(op.path)


def _discard(entries: list[_Entry], entry: _Entry) -> None:
    if entry in entries:
        entries.remove(entry)
