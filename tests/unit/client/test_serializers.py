"""Values to bytes and back."""

from typing import Any

import pytest

from ottla.base.errors import ConfigError
from ottla.client.serializers import deserializer, serializer


@pytest.mark.parametrize(
    ("name", "value", "data"),
    [
        ("string", "grüße", "grüße".encode()),
        ("json", {"a": [1, None, "ü"]}, '{"a":[1,null,"ü"]}'.encode()),
    ],
)
def test_named_ones_come_back(name: str, value: Any, data: bytes) -> None:
    write, read = serializer(name, "value.serializer"), deserializer(name, "value.deserializer")
    assert write is not None
    assert read is not None
    assert (write(value), read(data), write(None)) == (data, value, None)


def test_bytes_and_nothing_leave_bytes_alone() -> None:
    assert serializer("bytes", "s") is serializer(None, "s") is deserializer(None, "s") is None


def test_a_callable_is_taken_as_it_is() -> None:
    assert serializer(str.encode, "s") == str.encode
    assert deserializer(int, "s") is int


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"key.serializer=avro: must be bytes, string, json"):
        serializer("avro", "key.serializer")
