"""Records as Kafka's formatters print them."""

import pytest

from ottla.cli.kafka.options import UsageError
from ottla.cli.kafka.record_format import formatter
from ottla.client.consumer_record import CREATE_TIME, LOG_APPEND_TIME, ConsumerRecord

HEADERS = (("h1", b"x"), ("h2", None))
RECORD = ConsumerRecord("t", 3, 7, 1234, CREATE_TIME, b"key", b"value", HEADERS, 0)
EVERYTHING = {
    f"print.{name}": "true" for name in ("timestamp", "partition", "offset", "headers", "key")
}


def test_values_alone_unless_asked_for_more() -> None:
    show = formatter(None, {})
    assert show(RECORD) == b"value\n"
    assert show(RECORD._replace(value=None)) == b"null\n"
    assert show(RECORD._replace(value=b"\xff\x00")) == b"\xff\x00\n"


def test_all_columns_in_kafkas_order() -> None:
    show = formatter("kafka.tools.DefaultMessageFormatter", EVERYTHING)
    expected = b"CreateTime:1234\tPartition:3\tOffset:7\th1:x,h2:null\tkey\tvalue\n"
    assert show(RECORD) == expected
    bare = RECORD._replace(timestamp_type=LOG_APPEND_TIME, headers=(), key=None)
    assert show(bare) == b"LogAppendTime:1234\tPartition:3\tOffset:7\tNO_HEADERS\tnull\tvalue\n"
    assert show(bare._replace(timestamp=-1)).startswith(b"NO_TIMESTAMP\t")


def test_separators_and_a_literal_of_ones_own() -> None:
    properties = {
        "print.key": " TRUE ",
        "print.headers": "true",
        "key.separator": "|",
        "line.separator": "##",
        "headers.separator": ";",
        "null.literal": "NIL",
    }
    assert formatter(None, properties)(RECORD) == b"h1:x;h2:NIL|key|value##"


def test_nothing_at_all() -> None:
    assert formatter(None, {"print.value": "false"})(RECORD) == b""
    assert formatter("org.apache.kafka.tools.consumer.NoOpMessageFormatter", {})(RECORD) == b""


def test_null_is_not_deserialized() -> None:
    properties = {"value.deserializer": "IntegerDeserializer"}
    assert formatter(None, properties)(RECORD._replace(value=None)) == b"null\n"


def test_a_class_that_cannot_be_loaded() -> None:
    with pytest.raises(UsageError, match=r"no formatter com\.example\.Mine"):
        formatter("com.example.Mine", {})
