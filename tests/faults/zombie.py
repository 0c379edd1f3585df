"""Writes that wait at the door of a broker that hangs: it finds them when it goes on, as the leader it no longer is."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from tests.checker.cluster import ZOMBIE
from tests.checker.history import Action, Operation, Outcome, Sent
from tests.faults.scene import Scene
from tests.support.wire import Closed, Wire, batch, produce_request, produced
from tests.workload.worker import key_of

TIMEOUT_S = 15.0
ACKS_ALL = -1


@dataclass(slots=True)
class _Write:
    operation: Operation
    wire: Wire
    request: Any


@dataclass(slots=True)
class ZombieWrites:
    """One write for each log that somebody else leads by now, each on its own connection."""

    scene: Scene
    broker: int
    _writes: list[_Write] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for each in self._writes:
            each.wire.close()

    def send(self) -> None:
        """The kernel takes the requests, the process sleeps on them."""
        topic = self.scene.cast.source
        for partition, state in self.scene.tree.states(topic).items():
            if state.leader == self.broker:
                continue  # nobody has replaced it: it may well accept them
            recorder = self.scene.recorder
            value = f"zombie.{self.broker}.{recorder.now_ms:.3f}.{partition}"
            operation = recorder.begin(
                "zombie",
                Action.SEND,
                steps=(Sent(key_of(topic, partition), value),),
                facts={ZOMBIE: f"broker {self.broker}, though {state.leader} leads"},
            )
            request = produce_request(
                topic, batch(value.encode()), partition=partition, acks=ACKS_ALL
            )
            wire = Wire(self.scene.broker(self.broker).bootstrap, TIMEOUT_S)
            wire.send(request)
            self._writes.append(_Write(operation, wire, request))

    def hear(self) -> None:
        """What the broker answers once it goes on; of a refusal nobody knows what came before it."""
        for operation, wire, request in ((w.operation, w.wire, w.request) for w in self._writes):
            outcome, error = Outcome.UNKNOWN, "no answer"
            with suppress(Closed, TimeoutError):
                answer = produced(wire.receive(request))
                outcome = Outcome.UNKNOWN if answer.error_code else Outcome.OK
                error = f"error {answer.error_code}"
            self.scene.recorder.end(operation, outcome, error=error)
