"""Pure: what shall go wrong: rules that meet the next requests of an API."""

from __future__ import annotations

from dataclasses import dataclass

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ErrorCode

FAIL = "fail"
DELAY = "delay"
DROP = "drop"
LOSE_ANSWER = "lose answer"


@dataclass(slots=True, kw_only=True)
class FaultRule:
    """What happens to requests of one API, to how many of them, and to whose."""

    number: int
    api_key: ApiKey
    action: str
    times: int | None
    client_id: str | None = None
    error: ErrorCode = ErrorCode.NONE
    delay_ms: int = 0
    applied: int = 0

    def meets(self, api_key: int, client_id: str | None) -> bool:
        """Whether it is for such a request, and not used up."""
        return (
            api_key == self.api_key
            and (self.times is None or self.applied < self.times)
            and self.client_id in (None, client_id)
        )

    def __str__(self) -> str:
        if self.action == FAIL:
            return f"fail with {self.error.name}"
        return f"delay by {self.delay_ms} ms" if self.action == DELAY else self.action


class FaultRules:
    """All rules, in the order in which they were made; the first that is for a request meets it."""

    def __init__(self) -> None:
        self._rules: dict[int, FaultRule] = {}
        self._made = 0

    def next_number(self) -> int:
        """A number that no rule has had."""
        self._made += 1
        return self._made

    def add(self, rule: FaultRule) -> None:
        """From now on `rule` is in force."""
        self._rules[rule.number] = rule

    def take(self, api_key: int, client_id: str | None) -> FaultRule | None:
        """The rule that a request meets, which counts it."""
        for rule in self._rules.values():
            if rule.meets(api_key, client_id):
                rule.applied += 1
                return rule
        return None

    def applied(self, number: int) -> int:
        """How many requests a rule has met."""
        return self._rules[number].applied

    def end(self, number: int) -> None:
        """The rule meets no more requests; what it has met can still be asked."""
        rule = self._rules[number]
        rule.times = rule.applied

    def end_all(self) -> None:
        """No rule meets any more requests."""
        for number in self._rules:
            self.end(number)
