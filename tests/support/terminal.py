"""A shell in a terminal, as a person has it: keys go in, and what is on the screen comes out."""

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from tests.support.waiting import wait_for

TAB = "\t"
ENTER = "\r"
LINE_START, LINE_END, DISCARD_LINE = "\x01", "\x05", "\x15"
_ROWS, _COLUMNS = 50, 400
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-9;?>=]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78HMNc])|\r|\x08|\x0f"
)


class Terminal:
    """A process with a terminal of its own."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=dict(environment),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self._received = b""

    def press(self, keys: str) -> None:
        """Press keys; what was on the screen before is forgotten."""
        self._read()
        self._received = b""
        os.write(self._ours, keys.encode())

    def wait_for(self, text: str, timeout_s: float = 30.0) -> str:
        """What has appeared since the last key, once the text is part of it."""

        def found() -> bool:
            self._read()
            return text in self.screen

        try:
            wait_for(found, f"{text!r} on the screen", timeout_s)
        except AssertionError as in_vain:
            raise AssertionError(f"{in_vain}; there is:\n{self.screen}") from None
        return self.screen

    @property
    def screen(self) -> str:
        """What has appeared since the last key, without colours and movements."""
        return _ESCAPES.sub("", self._received.decode(errors="replace"))

    def _read(self) -> None:
        while select.select([self._ours], [], [], 0)[0]:
            try:
                self._received += os.read(self._ours, 65536)
            except OSError:  # the shell has ended
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._ours)
