"""A client of a workload that runs in its own thread until it is told that it is enough."""

from __future__ import annotations

import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from tests.checker.history import Polled
from tests.support.waiting import wait_for
from tests.workload.recorder import Recorder

TIMEOUT_S = 20.0
QUICK = {
    "reconnect.backoff.ms": 5,
    "reconnect.backoff.max.ms": 50,
    "retry.backoff.ms": 5,
    "retry.backoff.max.ms": 50,
    # When librdkafka 2.16 bootstraps anew, as it does with every broker down, it may go on sending offsets of a
    # transaction to a broker handle that it has ended meanwhile, for ever.
    "metadata.recovery.strategy": "none",
    "log_level": 0,
}
"""How librdkafka comes back soon after a fault, and is silent about it."""


class Worker(Thread):
    """Does its work again and again."""

    def __init__(self, name: str, bootstrap: str, recorder: Recorder) -> None:
        super().__init__(name=name, daemon=True)
        self.bootstrap, self.recorder = bootstrap, recorder
        self.enough = Event()
        self.going_on = Event()
        self.going_on.set()
        self.chance = random.Random(name)
        self.own_settings: dict[str, Any] = {}
        self.failure: BaseException | None = None

    def settings(self, **own: Any) -> dict[str, Any]:
        """What every client of librdkafka is given; dots are written as underscores."""
        named = {name.replace("_", "."): value for name, value in own.items()}
        common = {"bootstrap.servers": self.bootstrap, "client.id": self.name, **QUICK}
        return {**common, **self.own_settings, **named}

    def run(self) -> None:
        try:
            self.begin()
            while not self.enough.is_set():
                self.going_on.wait()
                self.work()
            self.finish()
        except BaseException as failure:
            self.failure = failure
        finally:
            self.close()

    def begin(self) -> None:
        """Before the first piece of work."""

    def work(self) -> None:
        """One piece of work, in a moment."""
        raise NotImplementedError

    def finish(self) -> None:
        """After the last piece of work."""

    def close(self) -> None:
        """Whatever has happened."""

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Meanwhile it does nothing, from when it has done what it was doing."""
        self.going_on.clear()
        try:
            wait_for(
                lambda: not self.recorder.is_busy(self.name), f"{self.name} to rest", TIMEOUT_S
            )
            yield
        finally:
            self.going_on.set()

    def whereabouts(self) -> str:
        """What the thread does at the moment."""
        frame = sys._current_frames().get(self.ident or 0)
        return "".join(traceback.format_stack(frame)) if frame is not None else "nothing"

    def end(self) -> None:
        """It is enough; fails as the thread has failed."""
        self.enough.set()
        self.going_on.set()
        while self.is_alive():
            before = self.recorder.ended[self.name]
            self.join(TIMEOUT_S)
            progresses = self.recorder.ended[self.name] > before
            assert progresses or not self.is_alive(), f"{self.name} hangs:\n{self.whereabouts()}"
        if self.failure is not None:
            raise AssertionError(f"{self.name} failed: {self.failure!r}") from self.failure


def key_of(topic: str, partition: int) -> str:
    """The log as the history calls it."""
    return f"{topic}/{partition}"


def partition_of(key: str, offset: int = 0) -> TopicPartition:
    """The log as librdkafka calls it."""
    topic, _, partition = key.rpartition("/")
    return TopicPartition(topic, int(partition), offset)


def polled(message: Message) -> Polled:
    """A record that was read."""
    return Polled(
        key_of(message.topic(), message.partition()), message.value().decode(), message.offset()
    )


def until_done(step: Callable[[], object], patience_s: float = float("inf")) -> None:
    """What the client may try again is tried again, for so long; KafkaException says why not."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            step()
            return
        except KafkaException as failed:
            if not failed.args[0].retriable() or time.monotonic() > deadline:
                raise
        except SystemError as odd:
            # confluent-kafka raises fatal errors in the midst of callbacks, and then stumbles over itself.
            fatal = odd.__cause__
            raise (fatal if isinstance(fatal, KafkaException) else KafkaException(fatal)) from None


def in_time(step: Callable[[], object], patience_s: float) -> None:
    """What may never come back, whatever time-out it was given, is left behind after so long."""
    failures: list[BaseException] = []

    def attempt() -> None:
        try:
            step()
        except BaseException as failed:
            failures.append(failed)

    thread = Thread(target=attempt, name="attempt", daemon=True)
    thread.start()
    thread.join(patience_s)
    if thread.is_alive():
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "the client never came back"))
    if failures:
        raise failures[0]
