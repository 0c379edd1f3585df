"""Pure: what kafka-console-producer makes of a line: headers, a key and a value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ottla.cli.kafka.options import Failed


class Line(NamedTuple):
    """A record to send."""

    value: bytes | None
    key: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class LineReader:
    """Kafka's LineMessageReader, told by its properties what a line holds."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._with_key = _true(properties, "parse.key")
        self._with_headers = _true(properties, "parse.headers")
        self._forgiving = _true(properties, "ignore.error")
        self._marker = properties.get("null.marker")
        separators = {
            "key.separator": "\t",
            "headers.separator": ",",
            "headers.delimiter": "\t",
            "headers.key.separator": ":",
        }
        separators |= {name: properties[name] for name in separators if name in properties}
        _check(separators, self._marker)
        self._null = None if self._marker is None else self._marker.encode()
        self._key_separator = separators["key.separator"].encode()
        self._headers_delimiter = separators["headers.delimiter"].encode()
        self._header_separator = separators["headers.key.separator"].encode()
        self._headers_separator = re.compile(separators["headers.separator"].encode())
        self._number = 0

    def read(self, line: bytes) -> Line:
        """The record in the next line."""
        self._number += 1
        headers, rest = None, line
        if self._with_headers:
            headers, rest = self._cut(line, rest, self._headers_delimiter, "headers delimiter")
        key = None
        if self._with_key:
            key, rest = self._cut(line, rest, self._key_separator, "key separator")
        pairs = () if headers is None or headers == self._null else self._headers(headers)
        return Line(self._unmarked(rest), self._unmarked(key), pairs)

    def _cut(
        self, line: bytes, rest: bytes, separator: bytes, called: str
    ) -> tuple[bytes | None, bytes]:
        before, found, behind = rest.partition(separator)
        if found:
            return before, behind
        if self._forgiving:
            return None, rest
        raise Failed(f"No {called} found on line number {self._number}: '{_text(line)}'")

    def _headers(self, text: bytes) -> tuple[tuple[str, bytes | None], ...]:
        parts = self._headers_separator.split(text)
        while len(parts) > 1 and not parts[-1]:  # Java's split drops what is empty at the end
            parts.pop()
        return tuple(map(self._header, parts))

    def _header(self, pair: bytes) -> tuple[str, bytes | None]:
        name, found, value = pair.partition(self._header_separator)
        if not found:
            if self._forgiving:
                return _text(pair), None
            raise Failed(
                f"No header key separator found in pair '{_text(pair)}' on line number "
                f"{self._number}"
            )
        if name == self._null:
            raise Failed(
                f"Header keys should not be equal to the null marker '{self._marker}' as they "
                "can't be null"
            )
        return _text(name), self._unmarked(value)

    def _unmarked(self, data: bytes | None) -> bytes | None:
        return None if data == self._null else data


def _check(separators: Mapping[str, str], marker: str | None) -> None:
    delimiter, separator = separators["headers.delimiter"], separators["headers.separator"]
    if delimiter == separator:
        raise Failed("headers.delimiter and headers.separator may not be equal")
    if delimiter == separators["headers.key.separator"]:
        raise Failed("headers.delimiter and headers.key.separator may not be equal")
    if separator == separators["headers.key.separator"]:
        raise Failed("headers.separator and headers.key.separator may not be equal")
    for name, text in separators.items():
        if text == marker:
            raise Failed(f"null.marker and {name} may not be equal")
    try:
        re.compile(separator.encode())
    except re.error as flaw:
        raise Failed(f"headers.separator is a pattern, and {separator} is none: {flaw}") from None


def _true(properties: Mapping[str, str], name: str) -> bool:
    return properties.get(name, "").strip().lower() == "true"


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
