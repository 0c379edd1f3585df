"""Who takes part in a workload: writers, readers, and what all of them were promised."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from tests.checker.expectations import Copy, Expectations, Ledger
from tests.checker.history import Action, Isolation
from tests.support.waiting import wait_for
from tests.workload.copier import ATTEMPT, Copier
from tests.workload.late_ends import LateEnds
from tests.workload.readers import Member, ModernMember, Observer, Reader
from tests.workload.recorder import Recorder
from tests.workload.worker import TIMEOUT_S, Worker, key_of
from tests.workload.writers import MONEY, IdempotentWriter, Rivals, TransactionalWriter

PARTITIONS: Final = 3
GROUP: Final = "readers"
EVERYBODY: Final = (
    "writer", "transactional-0", "transactional-1", "rivals", "late-ends",
    "copier", "careful", "careless", "member-0", "member-1", "observer",
)  # fmt: skip
AT_LEAST: Final = 5


@dataclass(slots=True)
class Cast:
    """Clients of one cluster, or of one broker, and what they write down."""

    bootstrap: str
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
    def keys(self) -> list[str]:
        """All logs."""
        return [*self.source_keys, *self.target_keys]

    @property
    def members(self) -> list[Member]:
        """The members of the group."""
        return [each for each in self.readers if isinstance(each, Member)]

    def workers(self) -> Iterator[Worker]:
        """Writers before those who have to read what they wrote."""
        yield from self.writers
        yield from self.readers

    def engage(self, names: Collection[str]) -> None:
        """Have the performers of these names take part."""
        self.writers = [each for each in writers(self) if each.name in names]
        self.readers = [each for each in readers(self) if each.name in names]

    def start(self) -> None:
        """Everybody goes to work."""
        for worker in self.workers():
            worker.start()
        wait_for(self.all_at_work, "everybody to be at work", 3 * TIMEOUT_S)

    def all_at_work(self) -> bool:
        """Whether everybody has done something, and both members have a share."""
        self.check_failures()
        operations = self.recorder.operations
        working = {each.process for each in operations}
        sharing = {each.process for each in operations if each.action == Action.COMMIT}
        members = {member.name for member in self.members}
        return working >= {worker.name for worker in self.workers()} and sharing >= members

    def pause(self, seconds: float, patience_s: float = TIMEOUT_S) -> None:
        """Let them work for a while, and until every writer has got something done, however slow the machine is."""
        until = time.monotonic() + seconds
        before = self.recorder.ended.copy()

        def is_over() -> bool:
            self.check_failures()
            ended = self.recorder.ended
            busy = all(ended[each.name] >= before[each.name] + AT_LEAST for each in self.writers)
            return busy and time.monotonic() > until

        wait_for(is_over, f"{AT_LEAST} operations of every writer", seconds + patience_s)

    def check_failures(self) -> None:
        """Fail at once if somebody has."""
        for worker in self.workers():
            if worker.failure is not None:
                worker.end()

    def end(self) -> None:
        """Everybody ends what they were doing, and stops."""
        for worker in self.workers():
            worker.end()

    def abandon(self) -> None:
        """Everybody stops, however it went."""
        for worker in self.workers():
            worker.enough.set()
            worker.going_on.set()
        for worker in self.workers():
            if worker.is_alive():
                worker.join(TIMEOUT_S)

    def promises(self) -> Expectations:
        """What the clients were promised."""
        copy = Copy(
            name=f"{self.source} to {self.target}",
            inputs=frozenset(self.source_keys),
            outputs=frozenset(self.target_keys),
            original=lambda value: value.partition(ATTEMPT)[0],
            record_key=lambda value: value.rpartition(".")[0],
        )
        ledger = Ledger(
            name="accounts",
            keys=frozenset(self.source_keys),
            amount=lambda value: int(value.partition(MONEY)[2] or 0),
        )
        copies = any(isinstance(worker, Copier) for worker in self.readers)
        return Expectations(copies=(copy,) if copies else (), ledgers=(ledger,))


def writers(found: Cast) -> list[Worker]:
    """Those who write records by themselves."""
    arguments = found.bootstrap, found.recorder, found.source, PARTITIONS
    return [
        IdempotentWriter("writer", *arguments),
        TransactionalWriter("transactional-0", *arguments),
        TransactionalWriter("transactional-1", *arguments),
        Rivals("rivals", *arguments),
        LateEnds("late-ends", *arguments),
    ]


def readers(found: Cast) -> list[Worker]:
    """Those who read what others have written."""
    common = found.bootstrap, found.recorder
    return [
        Copier("copier", *common, (found.source, found.target), PARTITIONS),
        Reader("careful", *common, found.keys, Isolation.COMMITTED),
        Reader("careless", *common, found.keys, Isolation.UNCOMMITTED),
        Member("member-0", *common, GROUP, found.source),
        Member("member-1", *common, GROUP, found.source),
        ModernMember("modern-0", *common, GROUP, found.source),
        ModernMember("modern-1", *common, GROUP, found.source),
        Observer("observer", *common, [GROUP, "copier"], found.source_keys),
    ]
