"""A bar for a person, a line now and then for everybody else."""

import io
import sys

import pytest

from ottla.base.progress import Progress, short_count


class Terminal(io.StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        return True


def test_a_bar_is_drawn_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for stream, drawn in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        progress = Progress("records", 10)
        progress.advance(5)
        progress.close()
        assert ("50%  5 records" in stream.getvalue()) is drawn
        assert stream.getvalue().endswith("\r\x1b[K") is drawn


def test_elsewhere_there_are_lines() -> None:
    stream = io.StringIO()
    progress = Progress("records", None, stream, line_every_s=0)
    progress.advance(5)
    progress.reach(7, 0.5)
    progress.close()
    assert [line.partition(",")[0] for line in stream.getvalue().splitlines()] == [
        "5 records",
        "7 records",
    ]


def test_numbers_are_short() -> None:
    assert [short_count(n) for n in (12, 1250, 3.4e6, 2e9)] == ["12", "1.25 k", "3.4 M", "2 G"]
