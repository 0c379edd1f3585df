"""JSON as Kafka's JsonConverter writes and reads it."""

import json
from decimal import Decimal

import pytest

from ottla.connect.converters.json import JsonConverter
from ottla.connect.data.schema import (
    INT32,
    OPTIONAL_STRING,
    STRING,
    Instant,
    Struct,
    array,
    logical_date,
    logical_decimal,
    logical_timestamp,
    mapping,
    struct,
)
from ottla.connect.errors import DataInvalid

ORDER = struct(
    {
        "id": INT32,
        "note": OPTIONAL_STRING,
        "at": logical_timestamp(),
        "day": logical_date(),
        "price": logical_decimal(2),
        "lines": array(STRING),
        "counts": mapping(INT32, STRING),
    },
    name="com.example.Order",
    version=1,
)
VALUE = Struct(
    ORDER,
    [7, None, Instant(1_763_449_689_123), Instant(86_400_000), Decimal("-12.50"), ["a"], {1: "x"}],
)


def test_a_struct_comes_back_as_it_went() -> None:
    converter = JsonConverter({})
    data = converter.to_bytes("t", ORDER, VALUE)
    assert data is not None
    payload = json.loads(data)["payload"]
    assert payload == {
        "id": 7,
        "note": None,
        "at": 1_763_449_689_123,
        "day": 1,
        "price": "+x4=",
        "lines": ["a"],
        "counts": [[1, "x"]],
    }
    assert converter.from_bytes("t", data) == (ORDER, VALUE)


def test_decimals_may_be_numbers() -> None:
    converter = JsonConverter({"decimal.format": "NUMERIC", "schemas.enable": "false"})
    price = logical_decimal(2)
    assert converter.to_bytes("t", price, Decimal("12.50")) == b"12.50"


def test_without_schemas_json_is_the_value() -> None:
    converter = JsonConverter({"schemas.enable": "false"})
    assert converter.from_bytes("t", b'{"a": [1, 2.5]}') == (None, {"a": [1, 2.5]})
    assert converter.to_bytes("t", None, {"a": "ü"}) == '{"a":"ü"}'.encode()


@pytest.mark.parametrize(
    "data", [b"{", b'{"a": 1}', b'{"schema": {"type": "int32"}, "payload": "x"}']
)
def test_what_is_no_envelope_or_does_not_fit_is_refused(data: bytes) -> None:
    with pytest.raises(DataInvalid):
        JsonConverter({}).from_bytes("t", data)


def test_null_is_a_tombstone() -> None:
    converter = JsonConverter({})
    assert converter.to_bytes("t", None, None) is None
    assert converter.from_bytes("t", None) == (None, None)
