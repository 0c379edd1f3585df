"""What Kafka's deserializers make of bytes, printed as Java prints it."""

import struct
from uuid import UUID

import pytest

from ottla.cli.kafka.java_deserializers import deserializer
from ottla.cli.kafka.options import Failed

PACKAGE = "org.apache.kafka.common.serialization."


def shown(name: str, data: bytes) -> str:
    found = deserializer(PACKAGE + name)
    assert found is not None
    return found(data).decode()


def test_numbers() -> None:
    assert shown("ShortDeserializer", b"\xff\xff") == "-1"
    assert shown("IntegerDeserializer", (5).to_bytes(4)) == "5"
    assert shown("LongDeserializer", (2**40).to_bytes(8)) == str(2**40)


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0, "0.0"), (1.5, "1.5"), (0.1, "0.1"), (1e10, "1.0E10"), (-1.25e-5, "-1.25E-5")],
)
def test_fractions_as_java_prints_them(number: float, text: str) -> None:
    assert shown("DoubleDeserializer", struct.pack(">d", number)) == text
    assert shown("FloatDeserializer", struct.pack(">f", number)) == text


def test_what_is_no_number() -> None:
    assert shown("DoubleDeserializer", struct.pack(">d", float("nan"))) == "NaN"
    assert shown("DoubleDeserializer", struct.pack(">d", float("-inf"))) == "-Infinity"


def test_other_kinds() -> None:
    identifier = UUID(int=7)
    assert shown("UUIDDeserializer", str(identifier).encode()) == str(identifier)
    assert shown("BooleanDeserializer", b"\x01") == "true"
    assert shown("StringDeserializer", b"text") == "text"
    assert deserializer("nosuch.Class") is None


@pytest.mark.parametrize("name", ["Integer", "Double", "Boolean", "UUID"])
def test_bytes_of_another_kind_are_refused(name: str) -> None:
    with pytest.raises(Failed):
        shown(f"{name}Deserializer", b"abc")
