"""A missing program skips a test with advice, or fails it where everything must be there."""

import pytest

from tests.support import requirements
from tests.support.requirements import requires


@pytest.fixture(autouse=True)
def _one_thing_is_there_and_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTTLA_REQUIRE_ALL", raising=False)
    table = {"here": (lambda: True, "nothing"), "gone": (lambda: False, "it: apt-get install it")}
    monkeypatch.setattr(requirements, "REQUIREMENTS", table)


def test_what_is_there_lets_the_test_run() -> None:
    requires("here")


def test_what_is_missing_skips_the_test_and_says_what_to_install() -> None:
    with pytest.raises(pytest.skip.Exception, match="apt-get install it"):
        requires("here", "gone")


def test_where_everything_must_be_there_the_skip_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTTLA_REQUIRE_ALL", "1")
    with pytest.raises(pytest.fail.Exception, match="apt-get install it"):
        requires("gone")
