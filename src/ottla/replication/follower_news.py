"""What has changed since a follower was last answered, so that its fetches need not look at everything.

A broker leads a thousand partitions, of which a follower's fetch concerns a few. Looked at are those that it names,
because it has come further, and those that have changed here; all of them again after a while, for what changed unseen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.replication.partition import FetchWaiter, Partition

_COMPLETE_FOR_MS: Final = 500


class News:
    """For one session of one follower: what changed, the oldest change first, and the fetch that waits for more."""

    __slots__ = ("_begun_ms", "_session_id", "changed", "waiter")

    def __init__(self, session_id: int, now_ms: int) -> None:
        self._session_id = session_id
        self._begun_ms = now_ms
        self.changed: dict[Partition, None] = {}
        self.waiter: FetchWaiter | None = None

    def suffices(self, session_id: int, now_ms: int) -> bool:
        """Whether nothing else needs to be looked at for this session."""
        return session_id == self._session_id and now_ms - self._begun_ms < _COMPLETE_FOR_MS


class FollowerNews:
    """The news for all followers of what this broker leads."""

    __slots__ = ("_by_follower",)

    def __init__(self) -> None:
        self._by_follower: dict[int, News] = {}

    def of(self, follower_id: int) -> News | None:
        """What has been gathered for a follower, in whichever session."""
        return self._by_follower.get(follower_id)

    def begin(self, follower_id: int, session_id: int, now_ms: int) -> News:
        """Gather from now on: the follower's fetch is about to look at everything."""
        news = self._by_follower[follower_id] = News(session_id, now_ms)
        return news

    def note(self, partition: Partition, *, wake: bool) -> None:
        """A partition has changed; with `wake`, a fetch that waits shall look at it now."""
        for replica in partition.placed.replicas:
            news = self._by_follower.get(replica)
            if news is not None:
                news.changed[partition] = None
                if wake and news.waiter is not None:
                    news.waiter.wake()
