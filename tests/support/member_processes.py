"""Members of consumer groups in processes of their own, which can be killed and paused, Kafka's own among them."""

import json
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.java import compiled
from tests.support.members import (
    POLL_S,
    SESSION_MS,
    TIMEOUT_S,
    AioKafka,
    Claim,
    Confluent,
    KafkaPython,
    Member,
    Record,
)
from tests.support.waiting import wait_for

KINDS = {"confluent": Confluent, "kafka-python": KafkaPython, "aiokafka": AioKafka}
GROUP_MEMBER = Path(__file__).with_name("GroupMember.java")
ASSIGNORS = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "roundrobin": "org.apache.kafka.clients.consumer.RoundRobinAssignor",
    "sticky": "org.apache.kafka.clients.consumer.StickyAssignor",
}


class MemberProcess:
    """A member that tells by lines of JSON what it owns and reads."""

    def __init__(self, command: Sequence[str]) -> None:
        self.records: list[Record] = []
        self.claims: list[Claim] = []
        self.answers: list[str] = []
        self._owned: set[int] = set()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(b"{"):
                self.told(json.loads(line))

    def told(self, event: dict[str, Any]) -> None:
        """One line of the process."""
        match event:
            case {"owned": owned}:
                self._owned = set(owned)
            case {"claim": [generation, partitions]}:
                self.claims.append((generation, frozenset(partitions)))
            case {"read": [partition, offset, value]}:
                self.records.append((partition, offset, value.encode()))
            case {"answer": answer}:
                self.answers.append(answer)

    def poll(self) -> None:
        time.sleep(POLL_S)

    def owned(self) -> set[int]:
        return set() if self.process.poll() is not None else self._owned

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(TIMEOUT_S)
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout):
            pipe.close()  # type: ignore[union-attr]

    def kill(self) -> None:
        """SIGKILL: the broker hears nothing but silence."""
        self.process.kill()
        self.close()

    def pause(self) -> None:
        """SIGSTOP: it is not dead, but neither polls nor sends heartbeats, and does not know it."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT: it goes on as if no time had passed."""
        self.process.send_signal(signal.SIGCONT)

    def hold(self) -> None:
        """Let it poll no more, as one that is busy with what it has read."""
        self._ask("hold")

    def go_on(self) -> None:
        """Let it poll again."""
        self._ask("go on")

    def commit(self, offsets: dict[int, int]) -> str:
        """Have it commit; the name of the error, or nothing."""
        return self._ask(list(offsets.items()))

    def _ask(self, command: Any) -> str:
        assert self.process.stdin is not None
        before = len(self.answers)
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()
        wait_for(lambda: len(self.answers) > before, f"the answer to {command}", TIMEOUT_S)
        return self.answers[before]


class Child(MemberProcess):
    """One of the Python clients."""

    def __init__(self, kind: str, bootstrap: str, group: str, topic: str, **settings: Any) -> None:
        arguments = [kind, bootstrap, group, topic, json.dumps(settings)]
        super().__init__([sys.executable, "-m", "tests.support.member_processes", *arguments])


class Java(MemberProcess):
    """Kafka's own client."""

    CLASSIC = True

    def __init__(
        self,
        bootstrap: str,
        group: str,
        topic: str,
        assignor: str = "range",
        session_ms: int = SESSION_MS,
        **settings: Any,
    ) -> None:
        classic = {
            "session.timeout.ms": session_ms,
            "heartbeat.interval.ms": 500,
            "partition.assignment.strategy": ASSIGNORS[assignor],
        }
        wanted = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            **(classic if self.CLASSIC else {"group.protocol": "consumer"}),
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        super().__init__([*compiled(GROUP_MEMBER), topic, json.dumps(wanted)])


class _Running:
    """The inside of such a process: prints what changes of a member, and does what it is asked."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._owned: set[int] | None = None
        self._claims = 0
        self._commands: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._is_held = False
        self._stopping = threading.Event()

    def run(self) -> None:
        signal.signal(signal.SIGTERM, lambda *_: self._stopping.set())
        threading.Thread(target=self._listen, daemon=True).start()
        while not self._stopping.is_set():
            if not self._is_held:
                self._member.poll()
            self._tell()
            self._obey()
        self._member.close()

    def _listen(self) -> None:
        for line in sys.stdin:
            self._commands.put(json.loads(line))

    def _obey(self) -> None:
        try:
            command = self._commands.get(timeout=POLL_S if self._is_held else 0)
        except queue.Empty:
            return
        if isinstance(command, str):
            self._is_held = command == "hold"
            self._print(answer="")
        else:
            self._print(answer=self._member.commit(dict(command)))

    def _tell(self) -> None:
        for generation, partitions in self._member.claims[self._claims :]:
            self._print(claim=[generation, sorted(partitions)])
            self._claims += 1
        owned = self._member.owned()
        if owned != self._owned:
            self._owned = owned
            self._print(owned=sorted(owned))
        read = self._member.records[:]
        del self._member.records[: len(read)]
        for partition, offset, value in read:
            self._print(read=[partition, offset, value.decode()])

    def _print(self, **event: Any) -> None:
        print(json.dumps(event), flush=True)


def run_member(kinds: dict[str, Any], arguments: Sequence[str]) -> None:
    """Be a member until SIGTERM: kind, bootstrap, group, topic and settings as JSON."""
    kind, bootstrap, group, topic, settings = arguments
    _Running(kinds[kind](bootstrap, group, topic, **json.loads(settings))).run()


if __name__ == "__main__":
    run_member(KINDS, sys.argv[1:])
