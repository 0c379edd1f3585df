"""Records as JSON: nothing is lost on the way there and back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.client.consumer_record import ConsumerRecord
from ottla.inspection.record_json import (
    NewRecord,
    NotARecord,
    is_record_json,
    new_record,
    record_json,
)

DATA = st.none() | st.binary(max_size=30) | st.text(max_size=10).map(str.encode)
HEADERS = st.lists(st.tuples(st.text(max_size=5), DATA), max_size=3).map(tuple)


@given(DATA, DATA, HEADERS, st.integers(0, 2**40), st.sampled_from((0, 1)))
def test_a_record_comes_back_as_it_was(
    key: bytes | None,
    value: bytes | None,
    headers: tuple[tuple[str, bytes | None], ...],
    stamp: int,
    kind: int,
) -> None:
    record = ConsumerRecord("t", 3, 7, stamp, kind, key, value, headers, 0)
    found = json.loads(json.dumps(record_json(record), ensure_ascii=False))
    assert is_record_json(found)
    assert (found["topic"], found["offset"]) == ("t", 7)
    assert new_record(found) == NewRecord(value, key, headers, 3, stamp)


def test_what_people_write_by_hand_is_understood() -> None:
    written = {"value": {"amount": 5}, "key": 7, "headers": {"a": "b", "c": None}}
    assert new_record(written) == NewRecord(b'{"amount": 5}', b"7", (("a", b"b"), ("c", None)))
    assert new_record({"key": "k"}) == NewRecord(None, b"k")


WRONG = {
    "no object": ([1], "is no JSON object"),
    "a field": ({"value": 1, "vlaue": 2}, "has the field vlaue"),
    "both": ({"value": "a", "value_base64": "YQ=="}, "has both value and value_base64"),
    "base64": ({"value_base64": "?"}, "value_base64 that is not base64"),
    "a partition": ({"value": "a", "partition": "1"}, "a partition that is no whole number"),
    "a timestamp": ({"value": "a", "timestamp": -5}, "a timestamp that is no whole number"),
    "headers": ({"value": "a", "headers": "x"}, "neither a list nor an object"),
    "a header": ({"value": "a", "headers": [{"value": "x"}]}, 'is not {"name": ..., "value": ...}'),
    "a surrogate": ({"value": "\ud800"}, "half a character"),
}


@pytest.mark.parametrize(("found", "why"), WRONG.values(), ids=WRONG.keys())
def test_what_is_no_record_is_refused(found: object, why: str) -> None:
    with pytest.raises(NotARecord, match=None) as refused:
        new_record(found)
    assert why in str(refused.value)


@pytest.mark.parametrize("found", [5, None, [], {}, {"amount": 1}, {"value": 1, "amount": 1}])
def test_values_are_not_mistaken_for_records(found: object) -> None:
    assert not is_record_json(found)
