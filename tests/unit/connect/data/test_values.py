"""Values as text and back, as Kafka Connect's `Values` has them."""

import pytest

from ottla.connect.data.schema import Instant, Type
from ottla.connect.data.values import as_text, java_double, java_float, parse


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (100.0, "100.0"),
        (1e7, "1.0E7"),
        (9_999_999.0, "9999999.0"),
        (0.001, "0.001"),
        (1.5e-5, "1.5E-5"),
        (123.456, "123.456"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_numbers_are_written_as_java_writes_them(number: float, text: str) -> None:
    assert java_double(number) == text


def test_a_float_has_no_more_digits_than_tell_it_from_its_neighbours() -> None:
    assert java_float(1.100000023841858) == "1.1"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        (["a", 1, None], '["a",1,null]'),
        ({"k": [True]}, '{"k":[true]}'),
        (b"\x00\x01", "AAE="),
        (Instant(3_600_000), "01:00:00.000Z"),
        (Instant(86_400_000), "1970-01-02"),
        (Instant(86_400_001), "1970-01-02T00:00:00.001Z"),
        (None, None),
    ],
)
def test_values_become_text(value: object, text: str | None) -> None:
    assert as_text(value) == text


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("5", Type.INT8, 5),
        ("300", Type.INT16, 300),
        ("3000000000", Type.INT64, 3_000_000_000),
        ("2.0", Type.INT8, 2),
        ("2.5", Type.FLOAT32, 2.5),
        ("1.5e300", Type.INT64, None),
        ("true", Type.BOOLEAN, True),
        (" words ", Type.STRING, " words "),
    ],
)
def test_text_is_read_as_the_smallest_type_that_holds_it(
    text: str, kind: Type, value: object
) -> None:
    schema, found = parse(text)
    assert schema is not None
    if value is not None:
        assert (schema.type, found) == (kind, value)
    else:
        assert schema.type is Type.FLOAT64
