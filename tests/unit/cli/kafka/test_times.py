"""Dates and durations that people type."""

import pytest

from ottla.cli.kafka.options import Failed
from ottla.cli.kafka.times import duration_ms, epoch_ms, java_date


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("1970-01-01T00:00:01.500", 1500),
        ("1970-01-01T00:00:01.500Z", 1500),
        ("1970-01-01T02:00:00.000+02:00", 0),
        ("1970-01-01T02:00:00.000+0200", 0),
        ("1970-01-01T00:01:00", 60_000),
    ],
)
def test_dates(text: str, expected_ms: int) -> None:
    assert epoch_ms(text) == expected_ms


@pytest.mark.parametrize("text", ["2026-01-31", "2026-13-45T00:00:00.000", "Tuesday", ""])
def test_what_is_no_date_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Failed, match="write 2026-01-31T12:00"):
        epoch_ms(text)


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("PT0S", 0),
        ("P1D", 86_400_000),
        ("P1DT1H1M1.5S", 90_061_500),
        ("pt20m", 1_200_000),
        ("-PT1S", -1000),
        ("PT-1S", -1000),
    ],
)
def test_durations(text: str, expected_ms: int) -> None:
    assert duration_ms(text) == expected_ms


@pytest.mark.parametrize("text", ["3d", "P", "PT", "P1H", "1D", ""])
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Failed, match="write P1DT2H"):
        duration_ms(text)


def test_java_dates() -> None:
    shown = java_date(0.123, "yyyy-MM-dd'T'ss:SSS")
    assert shown.startswith(("1970-01-01T00:123", "1969-12-31T00:123"))
