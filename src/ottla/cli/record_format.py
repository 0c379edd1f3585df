"""Pure: the format of -f, as in '%t %p %o %k %v': how a record becomes a line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from ottla.base.errors import OttlaError
from ottla.client.consumer_record import ConsumerRecord
from ottla.inspection.human_units import iso

_NULL: Final = b"null"
_PARTS: Final = re.compile(r"%(.?)|\\(.?)|([^%\\]+)", re.DOTALL)
_ESCAPES: Final = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}
# What a terminal would obey rather than show.
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")


class BadFormat(OttlaError):
    """A format with a directive that there is not."""


def _plain(data: bytes | None) -> bytes:
    return _NULL if data is None else data


def _headers(record: ConsumerRecord) -> bytes:
    return b",".join(name.encode() + b"=" + _plain(value) for name, value in record.headers)


DIRECTIVES: Final[dict[str, tuple[str, Callable[[ConsumerRecord], bytes]]]] = {
    "t": ("topic", lambda record: record.topic.encode()),
    "p": ("partition", lambda record: b"%d" % record.partition),
    "o": ("offset", lambda record: b"%d" % record.offset),
    "k": ("key", lambda record: _plain(record.key)),
    "v": ("value", lambda record: _plain(record.value)),
    "h": ("headers", _headers),
    "d": ("date and time, UTC", lambda record: iso(record.timestamp).encode()),
    "T": ("timestamp in ms", lambda record: b"%d" % record.timestamp),
    "s": ("size of the value", lambda record: b"%d" % len(record.value or b"")),
    "%": ("%", lambda record: b"%"),
}


def record_format(text: str) -> Callable[[ConsumerRecord], bytes]:
    """A function that makes lines; every one ends with a line break, given or not."""
    parts: list[Callable[[ConsumerRecord], bytes]] = []
    for found in _PARTS.finditer(text):
        directive, escape, plain = found.groups()
        if plain is not None:
            parts.append(_constant(plain.encode()))
        elif escape is not None:
            parts.append(_constant(_ESCAPES.get(escape, f"\\{escape}".encode())))
        elif directive in DIRECTIVES:
            parts.append(DIRECTIVES[directive][1])
        else:
            known = ", ".join(f"%{letter} {what}" for letter, (what, _) in DIRECTIVES.items())
            raise BadFormat(f"-f: there is no %{directive} (there are: {known})")
    if not text.endswith("\\n"):
        parts.append(_constant(b"\n"))
    return lambda record: b"".join([part(record) for part in parts])


def _constant(data: bytes) -> Callable[[ConsumerRecord], bytes]:
    return lambda record: data


def shown_safely(line: bytes) -> bytes:
    """The line without what a terminal would obey: a record must not move the cursor."""
    return _CONTROL.sub(lambda found: b"\\x%02x" % found[0][0], line[:-1]) + line[-1:]
