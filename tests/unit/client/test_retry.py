"""Trying again: how long the waits are, what is worth another attempt, and when it ends."""

from __future__ import annotations

import pytest

from ottla.base.errors import ApiError
from ottla.client.errors import (
    ConnectionLost,
    UnsupportedByBroker,
    api_error,
    error_code,
    is_retriable,
)
from ottla.client.retry import JITTER, Backoff, Deadline, keep_trying
from ottla.protocol.errors import ErrorCode
from tests.unit.client.scripted import run


def test_waits_double_up_to_a_limit_and_begin_again_after_success() -> None:
    backoff = Backoff(100, 1000)
    for expected in (100, 200, 400, 800, 1000, 1000):
        assert expected * (1 - JITTER) <= backoff.next_ms() <= expected * (1 + JITTER)
    backoff.reset()
    assert backoff.next_ms() <= 100 * (1 + JITTER)


def test_a_long_outage_makes_no_large_numbers() -> None:
    backoff = Backoff(100, 1000)
    assert max(backoff.next_ms() for _ in range(5000)) <= 1000 * (1 + JITTER)


def test_what_may_pass_is_tried_again() -> None:
    failures = [ConnectionLost("gone"), ApiError(ErrorCode.NOT_COORDINATOR)]

    async def attempt() -> str:
        if failures:
            raise failures.pop()
        return "done"

    assert run(keep_trying(attempt, within_ms=5000, backoff=Backoff(1, 1))) == "done"


@pytest.mark.parametrize(
    "error", [UnsupportedByBroker("no"), ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION), ValueError()]
)
def test_what_will_not_pass_is_raised_at_once(error: Exception) -> None:
    attempts = []

    async def attempt() -> None:
        attempts.append(1)
        raise error

    with pytest.raises(type(error)):
        run(keep_trying(attempt, within_ms=5000, backoff=Backoff(1, 1)))
    assert len(attempts) == 1


def test_attempts_may_be_counted() -> None:
    attempts = []

    async def attempt() -> None:
        attempts.append(1)
        raise ConnectionLost("gone")

    with pytest.raises(ConnectionLost, match="gone"):
        run(keep_trying(attempt, within_ms=5000, backoff=Backoff(1, 1), retries=2))
    assert len(attempts) == 3


def test_the_last_failure_is_raised_when_time_runs_out() -> None:
    async def attempt() -> None:
        raise ConnectionLost("gone")

    with pytest.raises(ConnectionLost, match="gone"):
        run(keep_trying(attempt, within_ms=20, backoff=Backoff(5, 5)))


def test_a_deadline_does_not_sleep_beyond_itself() -> None:
    async def story() -> None:
        deadline = Deadline(1000)
        assert await deadline.sleep(1)
        assert 0 < deadline.left_ms() < 1000
        assert not await deadline.sleep(2000)

    run(story())


def test_a_code_from_the_future_is_an_unknown_server_error_that_keeps_its_number() -> None:
    assert error_code(9999) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert api_error(9999, "of tomorrow").code == 9999
    assert str(api_error(9999, "of tomorrow")) == "of tomorrow"
    assert not is_retriable(api_error(9999))
