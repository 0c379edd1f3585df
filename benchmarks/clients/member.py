"""What members of both group protocols have in common: a connection, one request at a time, a heartbeat."""

from __future__ import annotations

import socket
import time
from abc import ABC, abstractmethod
from typing import Any

from benchmarks.clients.coordinator import receive
from ottla.protocol.codec import encode_request
from ottla.protocol.schema import Request

HEARTBEAT_SECONDS = 0.05
SESSION_MS = 10_000
REBALANCE_MS = 60_000
NEVER = float("inf")


class Member(ABC):
    """One member; `settled` when it knows what it owns and has nothing to tell.

    What it says first is encoded before the clock starts.
    """

    partitions = 0
    join_version: int

    def __init__(self, connection: socket.socket, group: str, topic: str) -> None:
        self.connection = connection
        self.group, self.topic = group, topic
        self.member_id = ""
        self.generation = -1
        self.owned: frozenset[int] = frozenset()
        self.settled = False
        self.next_beat = NEVER
        self._asked: tuple[Request, int] | None = None
        self._first: tuple[Request, bytearray] | None = None

    @abstractmethod
    def joining(self) -> Request:
        """What it says to be let in."""

    @abstractmethod
    def beat(self) -> None:
        """Says that it lives."""

    @abstractmethod
    def leave(self) -> None:
        """Goes, so that the next run finds a broker at rest."""

    @abstractmethod
    def answered(self, answer: Any) -> None:
        """Does what a client does with an answer."""

    def prepare(self, count: int) -> None:
        """Encodes what it says first; how many they are going to be may matter."""
        request = self.joining()
        self._first = request, _encoded(request, self.join_version)

    def join(self) -> None:
        """Asks to be let in."""
        self.settled = False
        if self._first is None:
            self.ask(self.joining(), self.join_version)
            return
        (request, frame), self._first = self._first, None
        self._send(request, self.join_version, frame)

    def ask(self, request: Request, version: int) -> None:
        """Sends a request whose answer comes later."""
        self._send(request, version, _encoded(request, version))

    def _send(self, request: Request, version: int, frame: bytearray) -> None:
        self.next_beat = NEVER
        self._asked = request, version
        self.connection.sendall(frame)

    def take_answer(self) -> None:
        """Reads the answer that has come."""
        assert self._asked is not None
        request, version = self._asked
        self._asked = None
        self.answered(receive(self.connection, request, version))

    def wait_to_beat(self) -> None:
        """The next heartbeat is due in a while."""
        self.next_beat = time.monotonic() + HEARTBEAT_SECONDS

    def beat_if_due(self, now: float) -> None:
        """Sends the heartbeat whose time has come."""
        if now >= self.next_beat:
            self.beat()


def _encoded(request: Request, version: int) -> bytearray:
    return encode_request(request, version, 1, "bench")
