"""Structured logging over the standard library: an event and its key=value pairs.

    log = logger(__name__)
    log.info("segment rolled", partition=tp, base_offset=n)

A disabled level costs one comparison. Tracebacks are printed by `exception` alone.
"""

import json
import logging
import sys
import time
from typing import Any, Final, Literal, TextIO

ROOT: Final = "ottla"
LEVELS: Final = ("debug", "info", "warning", "error")
Format = Literal["console", "json"]

_PAIRS: Final = "ottla_pairs"


class Logger:
    """Writes events of one module."""

    __slots__ = ("_to",)

    def __init__(self, name: str) -> None:
        self._to = logging.getLogger(name)

    def debug(self, event: str, /, **pairs: object) -> None:
        """Per request, and anything as frequent."""
        if self._to.isEnabledFor(logging.DEBUG):
            self._write(logging.DEBUG, event, pairs)

    def info(self, event: str, /, **pairs: object) -> None:
        """Rare changes of state."""
        if self._to.isEnabledFor(logging.INFO):
            self._write(logging.INFO, event, pairs)

    def warning(self, event: str, /, **pairs: object) -> None:
        """Degraded, but will mend by itself."""
        if self._to.isEnabledFor(logging.WARNING):
            self._write(logging.WARNING, event, pairs)

    def error(self, event: str, /, **pairs: object) -> None:
        """A person must act."""
        if self._to.isEnabledFor(logging.ERROR):
            self._write(logging.ERROR, event, pairs)

    def exception(self, event: str, /, **pairs: object) -> None:
        """An error with the traceback of the exception being handled."""
        if self._to.isEnabledFor(logging.ERROR):
            self._write(logging.ERROR, event, pairs, traceback=True)

    def enabled_for_debug(self) -> bool:
        """Tells whether `debug` prints, where preparing its arguments would cost something."""
        return self._to.isEnabledFor(logging.DEBUG)

    def _write(
        self, level: int, event: str, pairs: dict[str, object], traceback: bool = False
    ) -> None:
        exc_info = sys.exc_info() if traceback else None
        record = self._to.makeRecord(
            self._to.name, level, "", 0, event, (), exc_info, extra={_PAIRS: pairs}
        )
        self._to.handle(record)


def logger(name: str) -> Logger:
    """Makes the logger of a module: `log = logger(__name__)`."""
    return Logger(name)


def configure(
    format: Format = "console", level: str = "info", stream: TextIO | None = None
) -> None:
    """Sends everything below `ottla` to the stream (stderr), in the given format."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(_Json() if format == "json" else _Console())
    root = logging.getLogger(ROOT)
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    root.propagate = False


def set_level(level: str) -> None:
    """Change what is left out, while the program runs."""
    logging.getLogger(ROOT).setLevel(level.upper())


def _pairs_of(record: logging.LogRecord) -> dict[str, Any]:
    return record.__dict__.get(_PAIRS) or {}


def _moment(record: logging.LogRecord) -> str:
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{seconds}.{int(record.msecs):03d}Z"


def _plain(value: object) -> str:
    """Shows a value on one line, quoted only where it would be misread."""
    text = str(value)
    if not text or not text.isprintable() or any(mark in text for mark in ' "='):
        return json.dumps(text, ensure_ascii=False)
    return text


def _json_value(value: object) -> object:
    """Keeps what JSON has a form for; the rest, named tuples included, as people read it."""
    return value if type(value) in (int, float, bool, list, dict, type(None)) else str(value)


class _Console(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        words = [_moment(record), f"{record.levelname:<7}", record.getMessage()]
        words += [f"{key}={_plain(value)}" for key, value in _pairs_of(record).items()]
        words.append(f"[{record.name.removeprefix(ROOT + '.')}]")
        line = " ".join(words)
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "time": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        # Our own keys win: a pair of the same name is kept under a name of its own.
        for key, value in _pairs_of(record).items():
            entry[f"{key}_" if key in entry else key] = _json_value(value)
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False, default=str)
