"""What a test can do to its broker: make rules for the next requests of an API, and drop connections.

rule = broker.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER", times=2)
...
assert rule.applied == 2
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ErrorCode
from ottla.testing import rules

Ask = Callable[..., Any]
_APIS = {key.api_name: key for key in ApiKey}


class Rule:
    """A rule that is in force until it has met as many requests as it is for, or until it is ended."""

    __slots__ = ("_ask", "_number")

    def __init__(self, ask: Ask, number: int) -> None:
        self._ask = ask
        self._number = number

    @property
    def applied(self) -> int:
        """How many requests it has met so far."""
        count: int = self._ask("applied", number=self._number)
        return count

    def end(self) -> None:
        """Let it meet no more requests."""
        self._ask("end_rule", number=self._number)


class Faults:
    """Makes rules. Each is for the next `times` requests of one API, or for all of them with `times=None`.

    With `client_id` a rule is for the requests of that client alone. The first rule that is for a request meets it.
    Rules are for clients: what the brokers of a cluster ask each other is left alone.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.used = False
        """Whether there may be anything to clear."""

    def fail(
        self, api: str, error: str, *, times: int | None = 1, client_id: str | None = None
    ) -> Rule:
        """Answer with an error code, such as "NOT_LEADER_OR_FOLLOWER", and do nothing else."""
        known = _one_of(ErrorCode.__members__, error, "an error code of Kafka")
        return self._rule(api, rules.FAIL, times, client_id, error=known.name)

    def delay(
        self, api: str, delay_ms: int, *, times: int | None = 1, client_id: str | None = None
    ) -> Rule:
        """Leave a request, and those behind it on its connection, for some time before it is looked at."""
        return self._rule(api, rules.DELAY, times, client_id, delay_ms=delay_ms)

    def drop(self, api: str, *, times: int | None = 1, client_id: str | None = None) -> Rule:
        """Hang up on a request without doing what it asks for."""
        return self._rule(api, rules.DROP, times, client_id)

    def lose_answer(self, api: str, *, times: int | None = 1, client_id: str | None = None) -> Rule:
        """Do what a request asks for, and hang up instead of answering: the client cannot know."""
        return self._rule(api, rules.LOSE_ANSWER, times, client_id)

    def drop_connections(self) -> int:
        """Hang up on all clients, now; how many there were."""
        count: int = self._ask("drop_connections")
        return count

    def clear(self) -> None:
        """End all rules."""
        self._ask("end_rules")
        self.used = False

    def _rule(
        self, api: str, action: str, times: int | None, client_id: str | None, **rest: Any
    ) -> Rule:
        key = _one_of(_APIS, api, "an API of Kafka")
        self.used = True
        number = self._ask(
            "add_rule", api=key.name, action=action, times=times, client_id=client_id, **rest
        )
        return Rule(self._ask, number)


def _one_of(known: Any, name: str, what: str) -> Any:
    if name in known:
        return known[name]
    close = get_close_matches(name, known, n=1)
    raise ValueError(f"{name!r} is not {what}" + (f"; did you mean {close[0]!r}?" if close else ""))
