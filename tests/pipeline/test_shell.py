"""`ottla spark shell` on a terminal: a person reads a topic with one line."""

import os
import pty
import select
import signal
import time
from collections.abc import Iterator

import pytest

from tests.support.broker import OTTLA
from tests.support.clients import produce
from tests.support.ottla_cli import Ottla
from tests.support.requirements import requires
from tools.java import SHORT_LIVED

PROMPT = b">>> "
TIMEOUT_S = 90.0


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, *command: str) -> None:
        self._pid, self._screen = pty.fork()
        if self._pid == 0:
            os.execve(command[0], command, {**os.environ, "TERM": "dumb"})
        self.shown = b""

    def type(self, line: str) -> None:
        os.write(self._screen, line.encode() + b"\n")

    def wait_for(self, text: bytes) -> bytes:
        """Everything shown up to the text, which is taken away."""
        deadline = time.monotonic() + TIMEOUT_S
        while text not in self.shown:
            ready, _, _ = select.select([self._screen], [], [], deadline - time.monotonic())
            assert ready, f"{text!r} does not come: {self.shown.decode()}"
            self.shown += os.read(self._screen, 65536)
        before, _, self.shown = self.shown.partition(text)
        return before

    def close(self) -> int:
        os.kill(self._pid, signal.SIGKILL)
        os.close(self._screen)
        return os.waitpid(self._pid, 0)[1]


@pytest.fixture
def shell(bootstrap: str) -> Iterator[Terminal]:
    requires("java")
    jvm = f"spark.driver.extraJavaOptions={' '.join(SHORT_LIVED)}"
    conf = ("--conf", "spark.ui.enabled=false", "--conf", jvm)
    words = ("spark", "shell", "-b", bootstrap, "--master", "local[1]", *conf)
    terminal = Terminal(str(OTTLA), *words)
    yield terminal
    terminal.close()


def test_a_topic_is_a_frame(shell: Terminal, bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, [b"tea", b"coffee"])
    assert b"ottla is at" in shell.wait_for(PROMPT)
    shell.type(f'[bytes(row.value) for row in topic("{topic}").collect()]')
    shell.wait_for(b"collect()]")
    assert b"[b'tea', b'coffee']" in shell.wait_for(PROMPT)


def test_without_java_it_is_one_sentence(bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    sentence = Ottla(bootstrap).at_home(monkeypatch).refused("spark", "shell")
    assert sentence.startswith("ottla spark shell: Spark needs Java, and there is none")
