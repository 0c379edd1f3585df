"""Pure: histories as a person writes them, for the tests of the checker.

One operation a line; each begins when the one before is over, unless `at=` says otherwise:

    w   send +a@0 +t/1:b@3              sends a (told offset 0) to t/0, b to t/1
    w   transaction +c -> fail          an aborted transaction that wrote c and was told no offset
    r   poll a@0 t/1:b@3 isolation=read_uncommitted
    g   commit group=g generation=2 positions=t/0:5 at=10-30 -> unknown
    o   watermarks watermarks=t/0:0/3/5/6
    f   fault keys=t/0 facts={"what":"kill","progress_within_ms":100}
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.checker.history import (
    Isolation,
    Operation,
    Outcome,
    Polled,
    Sent,
    Step,
    Watermarks,
    ended,
)

_KEY = "t/0"
_STEP_MS = 10.0


def history(text: str) -> list[Operation]:
    """The operations of a text."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [_operation(number, line) for number, line in enumerate(filter(None, lines))]


def _operation(number: int, line: str) -> Operation:
    said, _, outcome = line.partition("->")
    process, action, *words = said.split()
    options = dict(_option(*word.split("=", 1)) for word in words if "=" in word)
    invoked_ms, completed_ms = options.pop(
        "at", (number * _STEP_MS, number * _STEP_MS + _STEP_MS / 2)
    )
    steps = tuple(_step(word) for word in words if "=" not in word)
    operation = Operation(
        id=f"{process}/{number}",
        process=process,
        action=action,
        invoked_ms=invoked_ms,
        steps=steps,
        **options,
    )
    return ended(operation, Outcome(outcome.strip() or "ok"), completed_ms)


def _step(word: str) -> Step:
    where, _, offset = word.removeprefix("+").partition("@")
    key, _, value = where.rpartition(":")
    if word.startswith("+"):
        return Sent(key or _KEY, value, int(offset) if offset else None)
    return Polled(key or _KEY, value, int(offset))


def _option(name: str, value: str) -> tuple[str, Any]:
    match name:
        case "at":
            begin, end = value.split("-")
            return name, (float(begin), float(end))
        case "client" | "generation" | "node":
            return name, int(value)
        case "facts":
            return name, json.loads(value)
        case "isolation":
            return name, Isolation(value)
        case "keys":
            return name, frozenset(value.split(","))
        case "positions":
            return name, {key: int(position) for key, position in _pairs(value)}
        case "watermarks":
            return name, {
                key: Watermarks(*map(int, offsets.split("/"))) for key, offsets in _pairs(value)
            }
    return name, value


def _pairs(value: str) -> Iterator[list[str]]:
    return (pair.rsplit(":", 1) for pair in value.split(","))
