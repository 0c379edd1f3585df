"""Pure: JSON objects one after the other in a stream of bytes, with or without white space between."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_MARK: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]"]', re.DOTALL)
_IN_STRING: Final = re.compile(rb'\\.|"', re.DOTALL)
_SPACE: Final = b" \t\r\n"


class TooLong(ValueError):
    """An object longer than the limit."""


class JsonStream:
    """Cuts objects out of chunks; each byte is looked at once, however small the chunks are."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._rest = bytearray()
        self._looked = 0
        self._depth = 0
        self._in_string = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The objects that are complete with this chunk."""
        self._rest += chunk
        begin, data = 0, self._rest
        at = self._after_string(self._looked)
        while not self._in_string and (mark := _MARK.search(data, at)) is not None:
            text = mark[0]
            at = mark.end()
            if text == b'"':
                self._in_string = True
                at = self._after_string(at)
            elif text in (b"{", b"["):
                self._depth += 1
            elif text in (b"}", b"]"):
                self._depth = max(0, self._depth - 1)
                if not self._depth:
                    yield bytes(data[begin:at]).strip(_SPACE)
                    begin = at
        if not self._in_string:
            at = len(data)
        del data[:begin]
        self._looked = at - begin
        if len(data) > self._most_bytes:
            raise TooLong(self._most_bytes)

    def _after_string(self, at: int) -> int:
        """The place behind the string that is open, or as far as it can be followed."""
        data = self._rest
        while self._in_string:
            found = _IN_STRING.search(data, at)
            if found is None:
                # A backslash at the very end belongs to what comes.
                return len(data) - 1 if data.endswith(b"\\") and at < len(data) else len(data)
            at = found.end()
            self._in_string = found[0] != b'"'
        return at

    def end(self) -> bytes:
        """What is left behind the last object."""
        return bytes(self._rest).strip(_SPACE)
