"""The workload: every kind of client at once, on a broker that is killed, behind a network that loses answers."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.checker.check import check
from tests.checker.expectations import Copy, Expectations, Ledger
from tests.checker.history import Action, Isolation, Outcome
from tests.checker.report import Report
from tests.support.clients import create_named
from tests.support.waiting import wait_for
from tests.workload.copier import ATTEMPT, Copier
from tests.workload.hidden_broker import HiddenBroker
from tests.workload.late_ends import LateEnds
from tests.workload.network import Network
from tests.workload.readers import Member, Observer, Reader, read_all
from tests.workload.recorder import Recorder
from tests.workload.worker import TIMEOUT_S, Worker, key_of
from tests.workload.writers import MONEY, IdempotentWriter, Rivals, TransactionalWriter

PARTITIONS: Final = 3
GROUP: Final = "readers"
EVERYBODY: Final = (
    "writer", "transactional-0", "transactional-1", "rivals", "late-ends",
    "copier", "careful", "careless", "member-0", "member-1", "observer",
)  # fmt: skip
PRODUCE, OFFSET_COMMIT, INIT_PRODUCER_ID, END_TXN = 0, 8, 22, 26
AT_LEAST: Final = 5
LOSSES: Final = {PRODUCE: 0.05, OFFSET_COMMIT: 0.05, INIT_PRODUCER_ID: 0.05, END_TXN: 0.05}
BROKER_SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "transaction.state.log.num.partitions": "3",
    "offsets.topic.num.partitions": "3",
}


@dataclass(slots=True)
class Stage:
    """A broker, the network before it, and who takes part."""

    broker: HiddenBroker
    network: Network
    recorder: Recorder
    source: str = "records"
    target: str = "copies"
    writers: list[Worker] = field(default_factory=list)
    readers: list[Worker] = field(default_factory=list)

    @property
    def source_keys(self) -> list[str]:
        """The logs that everybody writes to."""
        return [key_of(self.source, number) for number in range(PARTITIONS)]

    @property
    def target_keys(self) -> list[str]:
        """The logs that the copier writes to."""
        return [key_of(self.target, number) for number in range(PARTITIONS)]

    @property
    def members(self) -> list[Member]:
        """The members of the group."""
        return [each for each in self.readers if isinstance(each, Member)]

    def workers(self) -> Iterator[Worker]:
        """Writers before those who have to read what they wrote."""
        yield from self.writers
        yield from self.readers


@contextmanager
def stage(directory: Path, mutant: str = "", names: Collection[str] = EVERYBODY) -> Iterator[Stage]:
    """A broker, the network that its clients come through, and the performers of these names."""
    recorder = Recorder()
    with Network(recorder.fault) as network:
        broker = HiddenBroker(directory / "broker", network, BROKER_SETTINGS, mutant).start()
        found = Stage(broker, network, recorder)
        try:
            for topic in (found.source, found.target):
                create_named(network.bootstrap, topic, PARTITIONS)
            found.writers = [each for each in writers(found) if each.name in names]
            found.readers = [each for each in readers(found) if each.name in names]
            yield found
        finally:
            for worker in found.workers():
                worker.enough.set()
            for worker in found.workers():
                if worker.is_alive():
                    worker.join(TIMEOUT_S)
            broker.kill()
            recorder.save(directory / "history.jsonl")


def writers(found: Stage) -> list[Worker]:
    """Those who write records by themselves."""
    arguments = found.network.bootstrap, found.recorder, found.source, PARTITIONS
    return [
        IdempotentWriter("writer", *arguments),
        TransactionalWriter("transactional-0", *arguments),
        TransactionalWriter("transactional-1", *arguments),
        Rivals("rivals", *arguments),
        LateEnds("late-ends", *arguments),
    ]


def readers(found: Stage) -> list[Worker]:
    """Those who read what others have written."""
    common = found.network.bootstrap, found.recorder
    everything = [*found.source_keys, *found.target_keys]
    return [
        Copier("copier", *common, (found.source, found.target), PARTITIONS),
        Reader("careful", *common, everything, Isolation.COMMITTED),
        Reader("careless", *common, everything, Isolation.UNCOMMITTED),
        Member("member-0", *common, GROUP, found.source),
        Member("member-1", *common, GROUP, found.source),
        Observer("observer", *common, [GROUP, "copier"], found.source_keys),
    ]


def perform(found: Stage, seconds: float, kills: int = 0) -> Report:
    """Everybody at work; faults one after another; then peace, everything read once more, and the verdict."""
    for worker in found.workers():
        worker.start()
    wait_for(lambda: all_at_work(found), "everybody to be at work", TIMEOUT_S)
    found.network.lose_answers(LOSSES)
    if len(found.members) > 1:
        oversleep(found)
    pause(found, seconds / (kills + 1))
    for _ in range(kills):
        found.recorder.fault("kill -9")
        found.broker.kill_and_restart()
        pause(found, seconds / (kills + 1))
    found.network.lose_answers({})
    for worker in found.workers():
        worker.end()
    return verdict(found)


def all_at_work(found: Stage) -> bool:
    """Whether everybody has done something, and both members have a share."""
    check_failures(found)
    operations = found.recorder.operations
    working = {each.process for each in operations}
    sharing = {each.process for each in operations if each.action == Action.COMMIT}
    members = {member.name for member in found.members}
    return working >= {worker.name for worker in found.workers()} and sharing >= members


def pause(found: Stage, seconds: float) -> None:
    """Let them work for a while, and until every writer has got something done, however slow the machine is."""
    until = time.monotonic() + seconds
    before = found.recorder.ended.copy()

    def is_over() -> bool:
        check_failures(found)
        ended = found.recorder.ended
        busy = all(ended[each.name] >= before[each.name] + AT_LEAST for each in found.writers)
        return busy and time.monotonic() > until

    wait_for(is_over, f"{AT_LEAST} operations of every writer", seconds + TIMEOUT_S)


def check_failures(found: Stage) -> None:
    """Fail at once if somebody has."""
    for worker in found.workers():
        if worker.failure is not None:
            worker.end()


def oversleep(found: Stage) -> None:
    """One member is silent for so long that another takes over its share; then its last commit arrives."""
    heir, sleeper = found.members
    generation = sleeper.generation
    found.network.hold(sleeper.name)
    sleeper.commits_again.set()
    try:
        wait_for(lambda: has_taken_over(found, generation), "a member to take over", TIMEOUT_S)
        # The heir's next commit would cover up what the late one does.
        with heir.resting():
            found.network.let_go(sleeper.name)
            wait_for(lambda: not sleeper.commits_again.is_set(), "its commit to end", TIMEOUT_S)
            wait_for_look(found)
    finally:
        found.network.let_go(sleeper.name)


def has_taken_over(found: Stage, generation: int) -> bool:
    """Whether every log has been committed in a newer generation."""
    check_failures(found)
    committed = {
        key
        for each in found.recorder.operations
        if each.action == Action.COMMIT and each.generation > generation
        if each.outcome is Outcome.OK
        for key in each.positions
    }
    return committed >= set(found.source_keys)


def wait_for_look(found: Stage) -> None:
    """Until the observer has asked once more, from now on, what the group has committed."""
    now_ms = found.recorder.now_ms

    def has_looked() -> bool:
        check_failures(found)
        return any(
            each.action == Action.FETCH_OFFSETS
            and each.group == GROUP
            and each.invoked_ms > now_ms
            and each.outcome is Outcome.OK
            for each in found.recorder.operations
        )

    wait_for(has_looked, "the observer to look", TIMEOUT_S)


def verdict(found: Stage) -> Report:
    """What the history shows."""
    everything = [*found.source_keys, *found.target_keys]
    for isolation in Isolation:
        read_all(found.network.bootstrap, found.recorder, everything, isolation)
    copy = Copy(
        name=f"{found.source} to {found.target}",
        inputs=frozenset(found.source_keys),
        outputs=frozenset(found.target_keys),
        original=lambda value: value.partition(ATTEMPT)[0],
        record_key=lambda value: value.rpartition(".")[0],
    )
    ledger = Ledger(
        name="accounts",
        keys=frozenset(found.source_keys),
        amount=lambda value: int(value.partition(MONEY)[2] or 0),
    )
    copies = any(isinstance(worker, Copier) for worker in found.readers)
    promises = Expectations(copies=(copy,) if copies else (), ledgers=(ledger,))
    return check(found.recorder.operations, promises)
