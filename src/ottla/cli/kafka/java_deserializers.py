"""Pure: what Kafka's deserializers, named by their Java classes, make of bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, TypeAlias
from uuid import UUID

from ottla.cli.kafka.options import Failed

Deserializer: TypeAlias = Callable[[bytes], bytes]
"""From the bytes of a record to the bytes to print."""

_PACKAGE: Final = "org.apache.kafka.common.serialization."
_NUMBERS: Final = {"Short": ">h", "Integer": ">i", "Long": ">q", "Float": ">f", "Double": ">d"}


def deserializer(name: str) -> Deserializer | None:
    """The deserializer of a class, with or without its package; None if it is not known."""
    short = name.removeprefix(_PACKAGE).removesuffix("Deserializer")
    if short in _NUMBERS:
        return _number(short, _NUMBERS[short])
    return {
        "String": _as_is,
        "ByteArray": _as_is,
        "ByteBuffer": _as_is,
        "Bytes": _as_is,
        "UUID": _uuid,
        "Boolean": _boolean,
    }.get(short)


def _as_is(data: bytes) -> bytes:
    return data


def _number(name: str, form: str) -> Deserializer:
    size = struct.calcsize(form)

    def read(data: bytes) -> bytes:
        if len(data) != size:
            raise Failed(f"Size of data received by {name}Deserializer is not {size}")
        (value,) = struct.unpack(form, data)
        return _float_text(value, name) if isinstance(value, float) else str(value).encode()

    return read


def _float_text(value: float, name: str) -> bytes:
    """As Java prints it: the fewest digits that read back as the same number."""
    if value != value:
        return b"NaN"
    if value in (float("inf"), float("-inf")):
        return b"Infinity" if value > 0 else b"-Infinity"
    form = _NUMBERS[name]
    for places in range(17):
        text = f"{value:.{places}e}"
        if struct.pack(form, float(text)) == struct.pack(form, value):
            break
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(float(text)).encode()
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}".encode()


def _uuid(data: bytes) -> bytes:
    try:
        return str(UUID(data.decode())).encode()
    except ValueError:
        raise Failed("Error parsing data into UUID") from None


def _boolean(data: bytes) -> bytes:
    if data not in (b"\x00", b"\x01"):
        raise Failed("Size of data received by BooleanDeserializer is not 1")
    return b"true" if data == b"\x01" else b"false"
