"""Objects are cut out of a stream, wherever the chunks end."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.http.server.json_stream import JsonStream, TooLong

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(), JSON, max_size=3), max_size=6)
BETWEEN = st.sampled_from(["", "\n", "\r\n", "  "])


@given(OBJECTS, BETWEEN, st.integers(1, 40), st.booleans())
def test_objects_come_out_as_they_went_in(
    objects: list[Any], between: str, size: int, pretty: bool
) -> None:
    text = between.join(json.dumps(each, indent=2 if pretty else None) for each in objects)
    data = text.encode()
    stream = JsonStream(10_000)
    found = []
    for at in range(0, len(data), size):
        found += [json.loads(each) for each in stream.feed(data[at : at + size])]
    assert found == objects
    assert stream.end() == b""


def test_what_is_cut_off_is_left_at_the_end() -> None:
    stream = JsonStream(100)
    assert list(stream.feed(b'{"a": 1} {"b": "x')) == [b'{"a": 1}']
    assert stream.end() == b'{"b": "x'


def test_an_object_without_an_end_is_given_up() -> None:
    stream = JsonStream(100)
    list(stream.feed(b'{"a": "' + b"x" * 90))
    with pytest.raises(TooLong):
        list(stream.feed(b"x" * 10))
