"""Pure: values to bytes and back: bytes, text, JSON, or whatever callable one brings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ottla.base.errors import ConfigError

Serializer: TypeAlias = Callable[[Any], Any]
"""Takes a value and returns bytes, or None for none."""
Deserializer: TypeAlias = Callable[[bytes], Any]
"""Takes bytes and returns a value; it is not asked about null."""


def serializer(given: str | Serializer | None, name: str) -> Serializer | None:
    """The serializer of this name, or the callable itself; None leaves bytes as they are."""
    return _named(given, name, {"string": to_text, "json": to_json})


def deserializer(given: str | Deserializer | None, name: str) -> Deserializer | None:
    """The deserializer of this name, or the callable itself; None leaves bytes as they are."""
    if given == "json":
        from json import loads

        return loads
    return _named(given, name, {"string": from_text})


def to_text(value: str | None) -> bytes | None:
    """Text as UTF-8."""
    return None if value is None else value.encode()


def from_text(data: bytes) -> str:
    """UTF-8 as text."""
    return data.decode()


def to_json(value: Any) -> bytes | None:
    """JSON as UTF-8, without spaces; None is a null record and not the word."""
    from json import dumps

    if value is None:
        return None
    return dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _named(
    given: str | Callable[[Any], Any] | None, name: str, known: dict[str, Callable[[Any], Any]]
) -> Callable[[Any], Any] | None:
    if given is None or given == "bytes":
        return None
    if callable(given):
        return given
    if given in known:
        return known[given]
    raise ConfigError(name, given, "must be bytes, string, json or a callable")
