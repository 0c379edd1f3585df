"""What a line for the console producer holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.cli.kafka.line_reader import Line, LineReader
from ottla.cli.kafka.options import Failed

WITH_ALL = {"parse.key": "true", "parse.headers": "true"}
PLAIN = st.binary(max_size=20).filter(lambda data: not set(data) & set(b"\t,:\n\r"))


def test_a_line_is_a_value() -> None:
    assert LineReader({}).read(b"a\tline") == Line(b"a\tline", None, ())


@given(headers=st.lists(st.tuples(st.from_regex(r"[a-z]{1,9}", fullmatch=True), PLAIN), min_size=1),
       key=PLAIN, value=st.binary(max_size=20))  # fmt: skip
def test_headers_keys_and_values(
    headers: list[tuple[str, bytes]], key: bytes, value: bytes
) -> None:
    shown = b",".join(name.encode() + b":" + data for name, data in headers)
    line = LineReader(WITH_ALL).read(shown + b"\t" + key + b"\t" + value)
    assert line == Line(value, key, tuple(headers))


def test_the_marker_of_null() -> None:
    reader = LineReader({**WITH_ALL, "null.marker": "NULL"})
    assert reader.read(b"h:NULL\tNULL\tNULL") == Line(None, None, (("h", None),))
    assert reader.read(b"NULL\tkey\t") == Line(b"", b"key", ())


def test_errors_name_the_line() -> None:
    reader = LineReader({"parse.key": "true", "key.separator": ":"})
    reader.read(b"a:b")
    with pytest.raises(Failed, match="No key separator found on line number 2: 'nokey'"):
        reader.read(b"nokey")


def test_errors_may_be_ignored() -> None:
    reader = LineReader({**WITH_ALL, "ignore.error": "true"})
    assert reader.read(b"bad\tk\tv") == Line(b"v", b"k", (("bad", None),))
    assert reader.read(b"nothing") == Line(b"nothing", None, ())


@pytest.mark.parametrize(
    "properties",
    [
        {"headers.delimiter": ","},
        {"headers.delimiter": ":"},
        {"headers.separator": ":"},
        {"null.marker": "\t"},
        {"null.marker": ":"},
        {"headers.separator": "["},
    ],
)
def test_separators_that_cannot_be_told_apart(properties: dict[str, str]) -> None:
    with pytest.raises(Failed):
        LineReader(properties)
