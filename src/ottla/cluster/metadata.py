"""The broker's image of the cluster, kept current from the tree, and those who listen to it.

One task re-reads what changed, makes the next image, awaits each listener in the order in which
they subscribed, and then publishes the image. So a topic shows in `image` once the listeners have
made its partitions, and `write` returns after that. A listener must therefore not await `write` or
`caught_up`: it would wait for itself.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress

from ottla.base.errors import ClusterError
from ottla.base.log import logger
from ottla.cluster.image import Delta, Image, TopicChange, advance
from ottla.cluster.reader import Unreadable, read_changes
from ottla.cluster.stale import Stale
from ottla.cluster.tree import NodeExists, Op, Tree, TreeEvent
from ottla.cluster.znodes import SKELETON

log = logger(__name__)

Listener = Callable[[Image, Delta], Awaitable[None] | None]


class Metadata:
    """Follows the tree; `image` is what the cluster looks like now. Each change calls `on_published`."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.image = Image()
        self.on_published: list[Callable[[], None]] = []
        self._stale = Stale()
        self._retold: set[str] = set()
        self._listeners: list[Listener] = []
        self._waiters: list[asyncio.Future[None]] = []
        self._wake = asyncio.Event()
        self._cancel_watch = tree.watch("/", self._on_events)
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    async def open(self) -> None:
        """Makes sure of the tree's fixed nodes, reads the whole image and begins to follow."""
        await asyncio.gather(*map(self._ensure, SKELETON))
        await self._advance(Stale(everything=True), _refuse)
        self._task = asyncio.create_task(self._follow(), name="metadata")

    def subscribe(self, listener: Listener) -> None:
        """Calls, and awaits if need be, with each image to come and what is new in it."""
        self._listeners.append(listener)

    async def write(self, ops: Sequence[Op]) -> list[str]:
        """Does a multi and returns once `image` shows it and every listener has acted on it."""
        paths = await self.tree.multi(ops)
        await self.caught_up()
        return paths

    async def caught_up(self) -> None:
        """Waits until `image` shows every change of the tree that has been heard of so far."""
        if self._closed:
            raise _stopping()
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self._wake.set()
        await waiter

    async def refreshed(self) -> None:
        """Waits until `image` shows what another broker is known to have written."""
        self._stale.everything = True
        await self.caught_up()

    async def told_again(self, topics: Collection[str]) -> None:
        """Lets the listeners hear of topics as if all their partitions had changed: they can make more of it now."""
        self._retold.update(topics)
        await self.caught_up()

    async def close(self) -> None:
        """Stops following; the tree stays open."""
        self._closed = True
        self._cancel_watch()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        _settle(self._waiters, _stopping())

    async def _ensure(self, path: str) -> None:
        if await self.tree.exists(path) is None:
            with suppress(NodeExists):  # another broker starts at the same time
                await self.tree.create(path, make_parents=True)

    def _on_events(self, events: Sequence[TreeEvent]) -> None:
        self._stale.note(events)
        self._wake.set()

    async def _follow(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            stale, self._stale = self._stale, Stale()
            waiters, self._waiters = self._waiters, []
            try:
                await self._advance(stale, _report)
                _settle(waiters)
            except asyncio.CancelledError:
                self._waiters += waiters
                raise
            except ClusterError as error:
                log.warning("metadata could not be read", error=error)
                self._fall_behind(waiters, error)
            except Exception as error:  # nobody else would ever bring the image up to date
                log.exception("metadata could not be brought up to date")
                self._fall_behind(waiters, ClusterError(f"the metadata is behind: {error}"))

    def _fall_behind(self, waiters: list[asyncio.Future[None]], error: ClusterError) -> None:
        # What was stale still is: all of it is read again when the next event arrives, as one does
        # when the tree is back.
        self._stale.everything = True
        _settle(waiters, error)

    async def _advance(self, stale: Stale, unreadable: Unreadable) -> None:
        changes = await read_changes(self.tree, self.image, stale, unreadable)
        image, delta = advance(self.image, changes)
        # What has just been made, or made anew, is heard of as a whole anyway, and so is what it replaced.
        retold = self._retold - {each.name for each in delta.created_topics()}
        self._retold = set()
        if retold:
            delta = delta._replace(topics={**delta.topics, **_as_if_new(image, retold)})
        if delta != Delta():
            await self._tell(image, delta)
        self.image = image
        for told in self.on_published:
            told()

    async def _tell(self, image: Image, delta: Delta) -> None:
        for listener in self._listeners:
            try:
                awaitable = listener(image, delta)
                if awaitable is not None:
                    await awaitable
            except Exception:  # one listener must not keep the others from the truth
                log.exception("a listener failed on new metadata", listener=listener)


def _as_if_new(image: Image, names: Collection[str]) -> dict[str, TopicChange]:
    found = [image.topics[name] for name in names if name in image.topics]
    return {each.name: TopicChange(each._replace(partitions=()), each) for each in found}


def _settle(waiters: list[asyncio.Future[None]], error: ClusterError | None = None) -> None:
    for waiter in waiters:
        if waiter.done():  # whoever waited was cancelled
            continue
        if error is None:
            waiter.set_result(None)
        else:
            waiter.set_exception(error)


def _stopping() -> ClusterError:
    return ClusterError("the broker is stopping")


def _refuse(error: ClusterError) -> None:
    raise error


def _report(error: ClusterError) -> None:
    log.error("metadata node ignored", error=error)
