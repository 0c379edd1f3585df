"""The language of --where, on records as people have them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.client.consumer_record import ConsumerRecord
from ottla.inspection.filters import FilterError, compiled

ORDER = b'{"amount": 120, "paid": true, "by": null, "tags": ["eu", 7], "to": {"city": "Prague"}}'


def record(value: bytes | None = ORDER, **fields: Any) -> ConsumerRecord:
    usual = ConsumerRecord(
        "orders", 2, 41, 1_769_860_800_000, 0, b"k-1", value, (("source", b"web"), ("n", None)), 0
    )
    return usual._replace(**fields)


TRUE = [
    "value.amount > 100",
    "value.amount >= 120 and value.amount <= 120.0",
    "value.amount = 120",
    "value.amount != 121",
    "100 < value.amount",
    "value.to.city = 'Prague'",
    'value["to"]["city"] = "Prague"',
    "value.to.'city' matches '^Pr'",
    "value.tags contains 'eu' and value.tags contains 7",
    "value.tags[0] = 'eu' and value.tags[-1] = 7",
    "value.to contains 'city'",
    "value.paid",
    "value.paid = true",
    "value.by = null and value.missing = null and value.to.city.deeper = null",
    "not value.by",
    "not value.missing > 5",
    "value contains 'Prague'",
    "value matches 'amount.*120'",
    "key = 'k-1'",
    "key matches '^k-[0-9]$'",
    "headers.source = 'web'",
    "headers['source'] contains 'eb'",
    "headers.n = null and headers.other = null",
    "topic = 'orders' and partition = 2 and offset >= 41",
    "timestamp >= '2026-01-31T12:00:00' and timestamp < '2026-01-31T13:00:00+00:00'",
    "timestamp = 1769860800000",
    "offset = 1 or offset = 41",
    "offset = 1 and offset = 2 or offset = 41",
    "not (offset = 1 or partition = 1)",
    "not not value.paid",
]
FALSE = [
    "value.amount > 120",
    "value.amount = '12'",
    "value.to.city > 5",
    "value.paid = 1",
    "value.by",
    "value.missing",
    "value.amount matches '^9'",
    "value.missing contains 'x'",
    "headers.other",
    "offset = 41 and partition = 1",
]


@pytest.mark.parametrize("text", TRUE)
def test_what_is_true_of_an_order(text: str) -> None:
    assert compiled(text)(record())


@pytest.mark.parametrize("text", FALSE)
def test_what_is_not_true_of_an_order(text: str) -> None:
    assert not compiled(text)(record())


def test_values_that_are_no_json_are_texts() -> None:
    assert compiled("value > 5")(record(b"12"))
    assert compiled("value = 12")(record(b"12"))
    assert compiled("value.amount = null")(record(b"12 dogs"))
    assert compiled("value contains 'dogs'")(record(b"12 dogs"))
    assert compiled("value = null")(record(None))
    assert not compiled("value contains 'x'")(record(None))
    assert not compiled("value > 5")(record(b"\xff\xfe"))


WRONG = {
    "": (0, "a field, a number or a text in quotes is expected"),
    "value.amount >": (14, "is expected"),
    "value.amount >> 5": (14, "is expected"),
    "amount > 5": (0, "there is no amount (a record has topic, partition"),
    "value.amount > 5 value": (17, "there is no use for value here"),
    "value.amount like 5": (13, "like is no operator"),
    "(value.a = 1": (12, "a ) is missing"),
    "value. = 5": (7, "a name is expected after the dot"),
    "value[x] = 5": (6, "a whole number or a name in quotes is expected"),
    "value[0 = 5": (8, "a ] is missing"),
    "key = 'abc": (6, "no closing quote"),
    "key = abc": (6, "texts are in quotes"),
    "key ~ 'a'": (4, "'~' means nothing"),
    "key matches '('": (12, "no regular expression"),
    "key matches 5": (12, "a regular expression in quotes is expected"),
    "5": (1, "an operator is missing"),
    "offset.x = 1": (0, "nothing inside of offset"),
    "headers = 'a'": (8, "the name of a header is missing"),
    "timestamp > 'noon'": (12, "a time is expected"),
    "__import__('os')": (0, "there is no __import__"),
    "(" * 60 + "offset = 1" + ")" * 60: (50, "nested more than 50 deep"),
}


@pytest.mark.parametrize(("text", "told"), WRONG.items(), ids=WRONG.keys())
def test_what_is_not_understood_is_pointed_at(text: str, told: tuple[int, str]) -> None:
    with pytest.raises(FilterError) as refused:
        compiled(text)
    assert (refused.value.column, True) == (told[0], told[1] in refused.value.why)
    assert str(refused.value).splitlines()[-1] == "  " + " " * told[0] + "^"


PIECES = st.sampled_from(
    [
        "value",
        "key",
        "headers",
        ".",
        "amount",
        "[",
        "]",
        "0",
        "-1",
        "'x'",
        '"y"',
        "(",
        ")",
        "and",
        "or",
        "not",
        "=",
        "!=",
        "<",
        ">",
        "contains",
        "matches",
        "timestamp",
        "'2026-01-01'",
        "true",
        "null",
        "1e9",
        "99999999999999999999999",
        "~",
        "'",
    ]
)
VALUES = st.one_of(st.none(), st.binary(max_size=20), st.just(ORDER), st.just(b"[" * 2000))


@given(st.lists(PIECES, max_size=12).map(" ".join) | st.text(max_size=40), VALUES)
def test_any_text_is_a_filter_or_is_refused_with_a_column(text: str, value: bytes | None) -> None:
    column, verdict = 0, False
    try:
        verdict = compiled(text)(record(value))
    except FilterError as refused:
        column = refused.column
    assert 0 <= column <= len(text)
    assert verdict in (True, False)
