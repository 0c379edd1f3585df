"""Kinds of values: what they read is what Kafka 4.3 reads, and they print as it prints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.config.kinds import Bool, Double, Int, Kind, ListOf, Long, OneOf, OrMinusOne, SetOf
from ottla.config.listeners import Address, Limits, Listener, Listeners, OptionalAddress, Pairs

POLICY = SetOf(ListOf("delete", "compact"))


@pytest.mark.parametrize(
    ("kind", "text", "shown"),
    [
        (Long(-1), " 100 ", "100"),
        (Long(-1), "+100", "100"),
        (Bool(), "TRUE", "true"),
        (Double(0, 1), "1", "1.0"),
        (Double(0, 1), ".5", "0.5"),
        (Double(0, 1), "5e-1", "0.5"),
        (Double(0, 1), "0.00001", "1.0E-5"),
        (Double(), "0.001", "0.001"),
        (Double(), "123456789", "1.23456789E8"),
        (Double(), "10000000", "1.0E7"),
        (POLICY, "", ""),
        (POLICY, "delete,delete", "delete"),
        (POLICY, " compact, delete", "compact,delete"),
        (POLICY, "delete,compact", "delete,compact"),
        (OneOf("gzip", "zstd"), " gzip ", "gzip"),
        (OrMinusOne(1, 9), "-1", "-1"),
        (Listeners(), "plaintext://h:9092, A://[::1]:1", "PLAINTEXT://h:9092,A://[::1]:1"),
        (OptionalAddress(), "", ""),
        (Limits(), "h:5, 10.0.0.1:6", "h:5,10.0.0.1:6"),
    ],
)
def test_a_value_is_shown_as_kafka_shows_it(kind: Kind[object], text, shown):
    assert kind.canonical(text) == shown


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Long(-1), "-2"),
        (Long(), "1_000"),
        (Long(), "1.0"),
        (Long(), ""),
        (Long(), "0x10"),
        (Long(), "٣"),
        (Long(), "9223372036854775808"),
        (Int(), "2147483648"),
        (Int(), "9" * 5000),
        (Bool(), "yes"),
        (Double(0, 1), "1.5"),
        (Double(0, 1), "NaN"),
        (Double(), "1e999"),
        (POLICY, "compact,"),
        (POLICY, "Compact"),
        (ListOf(empty=False), " "),
        (OneOf("gzip"), "GZIP"),
        (OrMinusOne(1, 9), "0"),
        (Listeners(), ""),
        (Listeners(), "PLAINTEXT://h"),
        (Listeners(), "PLAINTEXT://h:65536"),
        (Listeners(), "PLAINTEXT://a:1,,B://b:2"),
        (OptionalAddress(), "9092"),
        (Pairs("A:B"), "A"),
        (Limits(), "h:many"),
    ],
)
def test_what_kafka_refuses_is_refused_with_what_is_allowed(kind: Kind[object], text):
    with pytest.raises(ValueError) as refused:
        kind.parse(text)
    assert str(refused.value) == f"must be {kind.allowed()}"


def test_ranges_are_told_in_words():
    assert Int(0).allowed() == "a whole number of at least 0"
    assert Int(1, 9).allowed() == "a whole number from 1 to 9"
    assert Long().allowed() == "a whole number of long range"
    assert Double(0, 1).allowed() == "a number from 0 to 1"
    assert OneOf("a", "b", "c").allowed() == "a, b or c"


def test_listeners_are_typed():
    assert Listeners().parse("PLAINTEXT://:9092") == (Listener("PLAINTEXT", "", 9092),)
    assert OptionalAddress().parse("[::1]:80") == Address("::1", 80)


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-(2.0**62), max_value=2.0**62))
def test_a_number_survives_its_text(number):
    kind = Double()
    assert kind.parse(kind.text(number)) == number
