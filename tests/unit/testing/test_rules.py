"""Which rule meets which request, and how often."""

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ErrorCode
from ottla.testing.rules import DELAY, DROP, FAIL, FaultRule, FaultRules


def add(rules: FaultRules, action: str = DROP, times: int | None = 1, **rest: object) -> FaultRule:
    rule = FaultRule(
        number=rules.next_number(),
        api_key=ApiKey.PRODUCE,
        action=action,
        times=times,
        **rest,  # type: ignore[arg-type]
    )
    rules.add(rule)
    return rule


def test_a_rule_is_used_up_and_the_next_one_follows() -> None:
    rules = FaultRules()
    first, second = add(rules, times=2), add(rules)
    met = [rules.take(ApiKey.PRODUCE, "any") for _ in range(4)]
    assert met == [first, first, second, None]
    assert rules.applied(first.number) == 2


def test_a_rule_leaves_other_apis_and_other_clients_alone() -> None:
    rules = FaultRules()
    rule = add(rules, times=None, client_id="billing")
    assert rules.take(ApiKey.FETCH, "billing") is None
    assert rules.take(ApiKey.PRODUCE, "shipping") is None
    assert rules.take(ApiKey.PRODUCE, None) is None
    assert rules.take(ApiKey.PRODUCE, "billing") is rule


def test_a_rule_without_end_lasts_until_it_is_ended() -> None:
    rules = FaultRules()
    rule = add(rules, times=None)
    assert all(rules.take(ApiKey.PRODUCE, None) for _ in range(100))
    rules.end_all()
    assert rules.take(ApiKey.PRODUCE, None) is None
    assert rules.applied(rule.number) == 100


def test_a_rule_says_what_it_does() -> None:
    rules = FaultRules()
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert str(add(rules, FAIL, error=error)) == "fail with NOT_LEADER_OR_FOLLOWER"
    assert str(add(rules, DELAY, delay_ms=30)) == "delay by 30 ms"
    assert str(add(rules)) == "drop"
