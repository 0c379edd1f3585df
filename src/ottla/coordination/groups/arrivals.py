"""Pure: who is about to join: it has asked where the coordinator of its group is, and has not come there yet.

Consumers that are started together do not come together, some are milliseconds behind. To assign without them would
cost everybody another round, with the others' next heartbeats, seconds later.

What is known is little: one that joins does so on another connection than the one on which it asked. librdkafka asks on
the connection to the first broker that it finds and, if it goes on without an answer for 50 ms, on a second one.
"""

from __future__ import annotations

from typing import Final

LONGEST_MS: Final = 60
"""One that has not come by then is not waited for: tools ask, too, and never come."""
_ASKED_TWICE_MS: Final = 30
"""Of two questions that are further apart, one client may have asked both."""
_MOST_GROUPS: Final = 1_000
_MOST_OF_A_GROUP: Final = 1_000


class Arrivals:
    """When somebody asked for a group, by the connection on which it did; soft state of one partition's groups."""

    __slots__ = ("_asked",)

    def __init__(self) -> None:
        # The last to ask is the last of each group.
        self._asked: dict[str, dict[int, int]] = {}

    def announced(self, group_id: str, connection: int, now_ms: int) -> None:
        """Somebody asks for the coordinator of a group, which it is about to join."""
        asked = self._asked.pop(group_id, None) or {}
        asked.pop(connection, None)
        _forget_old(asked, now_ms)
        asked[connection] = now_ms
        self._asked[group_id] = asked
        if len(self._asked) > _MOST_GROUPS:
            del self._asked[next(iter(self._asked))]

    def came(self, group_id: str) -> None:
        """One of them is here, the last to ask for all that is known; one who asked long before may be the same."""
        asked = self._asked.get(group_id)
        if not asked:
            return
        _, last_ms = asked.popitem()
        first = next(iter(asked), None)
        if first is not None and last_ms - asked[first] >= _ASKED_TWICE_MS:
            del asked[first]
        if not asked:
            del self._asked[group_id]

    def are_expected(self, group_id: str, now_ms: int) -> bool:
        """Whether somebody is on its way."""
        asked = self._asked.get(group_id)
        if asked is None:
            return False
        if now_ms - next(reversed(asked.values())) <= LONGEST_MS:
            return True
        del self._asked[group_id]
        return False

    def clock_was_set(self, by_ms: int) -> None:
        """They have asked as long ago as before."""
        for asked in self._asked.values():
            for connection in asked:
                asked[connection] += by_ms


def _forget_old(asked: dict[int, int], now_ms: int) -> None:
    """Drop who is not waited for any more: tools ask on fresh connections, over and over, and never come."""
    while asked:
        first = next(iter(asked))
        if len(asked) < _MOST_OF_A_GROUP and now_ms - asked[first] <= LONGEST_MS:
            return
        del asked[first]
