"""Bytes from standard input and to standard output, whatever these are at the time."""

from __future__ import annotations

import sys
from collections.abc import Iterator


def write_bytes(data: bytes) -> None:
    """Write to standard output at once; a record need not be text."""
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:
        sys.stdout.write(data.decode(errors="replace"))
        return
    sys.stdout.flush()
    binary.write(data)
    binary.flush()


def read_lines(prompt: str) -> Iterator[bytes]:
    """The lines of standard input without their ends; a person at a terminal sees a prompt."""
    binary = getattr(sys.stdin, "buffer", None)
    asked = sys.stdin.isatty() and sys.stdout.isatty()
    while True:
        if asked:
            print(prompt, end="", flush=True)
        line = sys.stdin.readline().encode() if binary is None else binary.readline()
        if not line:
            return
        yield line.removesuffix(b"\n").removesuffix(b"\r")
