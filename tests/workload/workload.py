"""The workload: every kind of client at once, on a broker that is killed, behind a network that loses answers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.checker.check import check
from tests.checker.history import Action, Isolation, Outcome
from tests.checker.report import Report
from tests.support.clients import create_named
from tests.support.waiting import wait_for
from tests.workload.cast import EVERYBODY, GROUP, PARTITIONS, Cast
from tests.workload.hidden_broker import HiddenBroker
from tests.workload.network import Network
from tests.workload.readers import read_all
from tests.workload.recorder import Recorder
from tests.workload.worker import TIMEOUT_S

PRODUCE, OFFSET_COMMIT, INIT_PRODUCER_ID, END_TXN = 0, 8, 22, 26
LOSSES: Final = {PRODUCE: 0.05, OFFSET_COMMIT: 0.05, INIT_PRODUCER_ID: 0.05, END_TXN: 0.05}
ANSWERS_LOST: Final = 3
BROKER_SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "transaction.state.log.num.partitions": "3",
    "offsets.topic.num.partitions": "3",
}


@dataclass(slots=True)
class Stage:
    """A broker, the network before it, and who takes part."""

    broker: HiddenBroker
    network: Network
    cast: Cast

    @property
    def recorder(self) -> Recorder:
        """What happened."""
        return self.cast.recorder


@contextmanager
def stage(directory: Path, mutant: str = "", names: Collection[str] = EVERYBODY) -> Iterator[Stage]:
    """A broker, the network that its clients come through, and the performers of these names."""
    recorder = Recorder()
    with Network(recorder.fault) as network:
        broker = HiddenBroker(directory / "broker", network, BROKER_SETTINGS, mutant).start()
        found = Stage(broker, network, Cast(network.bootstrap, recorder))
        try:
            for topic in (found.cast.source, found.cast.target):
                create_named(network.bootstrap, topic, PARTITIONS)
            found.cast.engage(names)
            yield found
        finally:
            found.cast.abandon()
            broker.kill()
            recorder.save(directory / "history.jsonl")


def perform(found: Stage, seconds: float, kills: int = 0) -> Report:
    """Everybody at work; faults one after another; then peace, everything read once more, and the verdict."""
    cast = found.cast
    cast.start()
    found.network.lose_answers(LOSSES)
    if len(cast.members) > 1:
        oversleep(found)
    cast.pause(seconds / (kills + 1))
    wait_for(lambda: has_lost_answers(cast), f"{ANSWERS_LOST} answers to be lost", TIMEOUT_S)
    for _ in range(kills):
        found.recorder.fault("kill -9")
        found.broker.kill_and_restart()
        cast.pause(seconds / (kills + 1))
    found.network.lose_answers({})
    cast.end()
    for isolation in Isolation:
        read_all(cast.bootstrap, cast.recorder, cast.keys, isolation)
    return check(cast.recorder.operations, cast.promises())


def has_lost_answers(cast: Cast) -> bool:
    """Whether the network has done what it can, by chance, on however slow a machine."""
    cast.check_failures()
    return cast.recorder.faults().get("answer lost", 0) >= ANSWERS_LOST


def oversleep(found: Stage) -> None:
    """One member is silent for so long that another takes over its share; then its last commit arrives."""
    heir, sleeper = found.cast.members
    generation = sleeper.generation
    found.network.hold(sleeper.name)
    sleeper.commits_again.set()
    try:
        wait_for(lambda: has_taken_over(found.cast, generation), "a member to take over", TIMEOUT_S)
        # The heir's next commit would cover up what the late one does.
        with heir.resting():
            found.network.let_go(sleeper.name)
            wait_for(lambda: not sleeper.commits_again.is_set(), "its commit to end", TIMEOUT_S)
            wait_for_look(found.cast)
    finally:
        found.network.let_go(sleeper.name)


def has_taken_over(cast: Cast, generation: int) -> bool:
    """Whether every log has been committed in a newer generation."""
    cast.check_failures()
    committed = {
        key
        for each in cast.recorder.operations
        if each.action == Action.COMMIT and each.generation > generation
        if each.outcome is Outcome.OK
        for key in each.positions
    }
    return committed >= set(cast.source_keys)


def wait_for_look(cast: Cast) -> None:
    """Until the observer has asked once more, from now on, what the group has committed."""
    now_ms = cast.recorder.now_ms

    def has_looked() -> bool:
        cast.check_failures()
        return any(
            each.action == Action.FETCH_OFFSETS
            and each.group == GROUP
            and each.invoked_ms > now_ms
            and each.outcome is Outcome.OK
            for each in cast.recorder.operations
        )

    wait_for(has_looked, "the observer to look", TIMEOUT_S)
