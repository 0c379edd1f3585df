"""How far a long task is: a bar for a person at a terminal, now and then a line elsewhere."""

from __future__ import annotations

import os
import sys
import time
from typing import Final, TextIO

_BAR_CELLS: Final = 30
_REDRAW_S: Final = 0.1
_LINE_EVERY_S: Final = 10.0


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at it."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def short_count(count: float) -> str:
    """A number for people: 12, 1.25 k, 3.4 M."""
    for unit in ("", " k", " M"):
        if abs(count) < 1000:
            return f"{count:.3g}{unit}"
        count /= 1000
    return f"{count:.3g} G"


class Progress:
    """Draws how many are done, of how many if that is known, and how fast; on stderr unless told otherwise."""

    def __init__(
        self,
        what: str,
        total: int | None,
        to: TextIO | None = None,
        line_every_s: float = _LINE_EVERY_S,
    ) -> None:
        self.what = what
        self.count = 0
        self._total = total
        self._to = to
        self._began = time.monotonic()
        self._bar = is_terminal(self._stream)
        self._every_s = _REDRAW_S if self._bar else line_every_s
        self._next = self._began + (0 if self._bar else line_every_s)

    @property
    def elapsed_s(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._began

    def advance(self, count: int = 1) -> None:
        """So many more are done."""
        done = self.count + count
        self.reach(done, min(1.0, done / self._total) if self._total else None)

    def reach(self, count: int, share: float | None) -> None:
        """So many are done in all, which is this share of the task, where that is known."""
        self.count = count
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._every_s
            self._draw(share)

    def close(self) -> None:
        """Take the bar away: what comes now is the result."""
        if self._bar:
            print("\r\x1b[K", end="", file=self._stream, flush=True)

    @property
    def _stream(self) -> TextIO:
        return sys.stderr if self._to is None else self._to

    def _draw(self, share: float | None) -> None:
        rate = f"{short_count(self.count / max(self.elapsed_s, 1e-9))}/s"
        if not self._bar:
            print(f"{self.count} {self.what}, {rate}", file=self._stream, flush=True)
            return
        bar = ""
        if share is not None:
            full = round(share * _BAR_CELLS)
            bar = f"[{'#' * full}{'.' * (_BAR_CELLS - full)}] {share:4.0%}  "
        text = f"\r\x1b[K{bar}{self.count} {self.what}  {rate}"
        print(text, end="", file=self._stream, flush=True)
