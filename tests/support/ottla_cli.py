"""Runs `ottla NOUN VERB` inside the test's process, as a person would type it."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple, Self
from unittest.mock import patch

import pytest

from ottla.cli.main import main


class Done(NamedTuple):
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str


class Ottla:
    """`ottla`, with the broker under test as its cluster."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def at_home(self, monkeypatch: pytest.MonkeyPatch) -> Self:
        """Without the contexts of whoever runs the tests."""
        monkeypatch.setenv("XDG_CONFIG_HOME", "/nonexistent")
        monkeypatch.delenv("OTTLA_CONTEXT", raising=False)
        monkeypatch.delenv("OTTLA_BOOTSTRAP_SERVERS", raising=False)
        return self

    def run(self, *words: str, stdin: bytes = b"") -> Done:
        """Run a command that ends by itself."""
        out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
        piped = io.TextIOWrapper(io.BytesIO(stdin), "utf-8")
        with redirect_stdout(out), redirect_stderr(err), patch.object(sys, "stdin", piped):
            try:
                code = main([*words, *self._cluster(words)])
            except SystemExit as ended:
                code = int(str(ended.code))
        out.flush()
        written = out.buffer.getvalue()  # type: ignore[attr-defined]
        return Done(code, written.decode("utf-8", "replace"), err.getvalue())

    def _cluster(self, words: tuple[str, ...]) -> tuple[str, ...]:
        return () if "-b" in words or words[0] == "completion" else ("-b", self.bootstrap)

    def ok(self, *words: str, stdin: bytes = b"") -> str:
        """What a command prints that must succeed."""
        done = self.run(*words, stdin=stdin)
        assert done.code == 0, done
        return done.out

    def json(self, *words: str) -> Any:
        """What it prints as JSON."""
        return json.loads(self.ok(*words, "-o", "json"))

    def refused(self, *words: str, code: int = 1, stdin: bytes = b"") -> str:
        """The one sentence that it says instead."""
        done = self.run(*words, stdin=stdin)
        assert (done.code, done.out) == (code, ""), done
        assert "Traceback" not in done.err
        [sentence] = done.err.splitlines()
        return sentence
