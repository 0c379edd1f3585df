"""A broker to be treated badly, and the watch kept over its log, its memory and its other work."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from tests.conftest import AGAINST, no_traceback
from tests.support.broker import OttlaBroker
from tests.support.clients import create_topic
from tests.support.waiting import wait_for
from tests.support.wire import Wire, batch, produce_request, produced


class Target(NamedTuple):
    """The broker under attack: ottla of our own, or (to check the tests) another one."""

    bootstrap: str
    broker: OttlaBroker | None

    def log_lines(self) -> list[str]:
        """What ottla has logged so far; nothing is known of another broker."""
        return self.broker.log.splitlines() if self.broker else []


@pytest.fixture(scope="session")
def target(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Target]:
    """The broker under attack; at the end it has never stumbled over itself."""
    if AGAINST != "ottla":
        yield Target(request.getfixturevalue("bootstrap"), None)
        return
    with OttlaBroker(tmp_path_factory.mktemp("robustness") / "data") as broker:
        yield Target(broker.bootstrap, broker)
        no_traceback(broker)


@pytest.fixture
def attacker(target: Target) -> Iterator[Wire]:
    """The connection that misbehaves."""
    with Wire(target.bootstrap, timeout_s=5) as wire:
        yield wire


@pytest.fixture(autouse=True)
def _a_bystander_is_not_harmed(target: Target) -> Iterator[None]:
    """A connection made before the attack still works on after it."""
    topic = create_topic(target.bootstrap, "bystander")
    with Wire(target.bootstrap, timeout_s=5) as wire:
        assert produced(wire.ask(produce_request(topic, batch(b"before")))).base_offset == 0
        yield
        assert produced(wire.ask(produce_request(topic, batch(b"after")))).base_offset == 1


@pytest.fixture
def one_log_line(target: Target) -> Iterator[Callable[[], None]]:
    """Says that what happened since the start of the test was logged in one line."""
    before = len(target.log_lines())

    def check() -> None:
        if target.broker is None:
            return
        wait_for(lambda: len(target.log_lines()) > before, "a line in the broker's log")
        assert len(target.log_lines()) == before + 1, target.log_lines()[before:]

    return check
