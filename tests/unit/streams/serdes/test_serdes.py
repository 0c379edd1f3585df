"""Serdes: the bytes are those of Kafka's own, and what does not fit is refused with its place."""

import uuid
from dataclasses import dataclass
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Value
from google.protobuf.wrappers_pb2 import StringValue

from ottla.streams import AvroSerde, JsonSerde, ProtobufSerde, TopologyError, Windowed
from ottla.streams.serdes.by_name import BY_NAME
from ottla.streams.serdes.scalars import SerdeError, StringSerde
from ottla.streams.serdes.windowed import SessionWindowedSerde, TimeWindowedSerde

ID = uuid.UUID("12345678-1234-5678-1234-567812345678")


@dataclass
class Line:
    article: str
    price: float = 0.0


@dataclass
class Order:
    id: int
    lines: list[Line]
    note: str | None = None


@pytest.mark.parametrize(
    ("name", "value", "data"),
    [
        ("string", "Grüße", "Grüße".encode()),
        ("int", -2, b"\xff\xff\xff\xfe"),
        ("long", 258, b"\0\0\0\0\0\0\1\2"),
        ("double", 1.5, b"\x3f\xf8\0\0\0\0\0\0"),
        ("boolean", True, b"\1"),
        ("uuid", ID, str(ID).encode()),
        ("bytes", b"\0\xff", b"\0\xff"),
        ("json", {"ü": [1, None]}, '{"ü":[1,null]}'.encode()),
    ],
)
def test_bytes_are_those_of_the_java_serializers(name: str, value: Any, data: bytes) -> None:
    assert BY_NAME[name].serialize(value) == data
    assert BY_NAME[name].deserialize(data) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("string", 5), ("int", 2**31), ("long", 1.5), ("long", True), ("double", "x"),
        ("uuid", "x"), ("json", {1j}), ("json", float("nan")), ("boolean", 1), ("bytes", "x"),
    ],
)  # fmt: skip
def test_values_that_do_not_fit(name: str, value: Any) -> None:
    with pytest.raises(SerdeError):
        BY_NAME[name].serialize(value)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("string", b"\xff"), ("int", b"\0"), ("long", b""), ("double", b"1.5"), ("boolean", b"\2"),
        ("uuid", b"no"), ("json", b"{"), ("json", b"NaN"), ("json", b"\xff"),
    ],
)  # fmt: skip
def test_bytes_that_do_not_fit(name: str, data: bytes) -> None:
    with pytest.raises(SerdeError):
        BY_NAME[name].deserialize(data)


def test_json_becomes_a_dataclass_and_says_what_is_wrong_where() -> None:
    serde = JsonSerde(Order)
    order = Order(1, [Line("pen", 2.0)])
    assert serde.deserialize(b'{"id":1,"lines":[{"article":"pen","price":2}],"new":5}') == order
    assert serde.deserialize(serde.serialize(order)) == order
    for data, sentence in [
        (b'{"id":1,"lines":[{}]}', "lines\\[0\\] has no field article"),
        (b'{"id":"1","lines":[]}', "value.id is a str, but must be int"),
        (b"[]", "must be an object"),
    ]:
        with pytest.raises(SerdeError, match=sentence):
            serde.deserialize(data)


def test_json_schema() -> None:
    serde = JsonSerde(
        {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
    )
    assert serde.deserialize(b'{"id":1}') == {"id": 1}
    with pytest.raises(SerdeError, match="has no field id"):
        serde.deserialize(b"{}")
    with pytest.raises(SerdeError, match=r"value\.id is a str"):
        serde.serialize({"id": "x"})


def test_avro_with_and_without_the_header_of_a_registry() -> None:
    schema = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
    plain, framed = AvroSerde(schema), AvroSerde(schema, schema_id=7)
    assert plain.serialize({"id": 1}) == b"\2"
    assert framed.serialize({"id": 1}) == b"\0\0\0\0\7\2"
    assert plain.deserialize(b"\2") == framed.deserialize(b"\0\0\0\0\x09\2") == {"id": 1}
    for serde, data in ((plain, b""), (plain, b"\2\2"), (framed, b"\2")):
        with pytest.raises(SerdeError):
            serde.deserialize(data)
    with pytest.raises(SerdeError, match="does not fit the Avro schema"):
        plain.serialize({"id": "x"})
    with pytest.raises(TopologyError, match="no Avro schema"):
        AvroSerde({"type": "recrod"})


def test_protobuf() -> None:
    serde = ProtobufSerde(StringValue)
    assert serde.deserialize(serde.serialize(StringValue(value="x"))) == StringValue(value="x")
    assert str(serde.type) == "StringValue(value)"
    assert ProtobufSerde(Value).type is not None  # contains itself
    with pytest.raises(SerdeError, match="not a StringValue"):
        serde.deserialize(b"\xff")
    with pytest.raises(TopologyError, match="that protoc generated"):
        ProtobufSerde(dict)


def test_keys_of_windows_have_the_bytes_of_kafka_streams() -> None:
    window = Windowed("a", 256, 356)
    timed, session = TimeWindowedSerde(StringSerde(), 100), SessionWindowedSerde(StringSerde())
    assert timed.serialize(window) == b"a\0\0\0\0\0\0\1\0"
    assert session.serialize(window) == b"a\0\0\0\0\0\0\1\x64\0\0\0\0\0\0\1\0"
    assert timed.deserialize(timed.serialize(window)) == window
    assert session.deserialize(session.serialize(window)) == window
