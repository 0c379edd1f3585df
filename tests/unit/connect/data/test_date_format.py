"""Dates by SimpleDateFormat's patterns, as Java 17 writes and reads them."""

import pytest

from ottla.connect.data.date_format import (
    PatternInvalid,
    check_pattern,
    format_instant,
    parse_instant,
)
from ottla.connect.data.schema import Instant

AT = Instant(1_763_449_689_123)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", "2025-11-18T07:08:09.123Z"),
        ("yy/M/d h:mm a", "25/11/18 7:08 AM"),
        ("EEE, d MMM yyyy", "Tue, 18 Nov 2025"),
        ("EEEE 'o''clock' H", "Tuesday o'clock 7"),
        ("D k K u", "322 7 7 2"),
        ("yyyyMMddHHmmssSSS", "20251118070809123"),
    ],
)
def test_a_point_in_time_is_written_and_read_back(pattern: str, text: str) -> None:
    assert format_instant(pattern, AT) == text


@pytest.mark.parametrize(
    ("pattern", "text", "epoch_ms"),
    [
        ("yyyyMMddHHmmssSSS", "20251118070809123", AT.epoch_ms),
        ("yyyy-MM-dd HH:mm:ss Z", "2025-11-18 09:08:09 +0200", AT.epoch_ms - 123),
        ("d MMMM yyyy h:m a", "18 november 2025 7:8 PM", 1_763_492_880_000),
        ("yyyy-MM-dd", "2025-02-31", 1_740_960_000_000),
        ("yyyy-MM-dd", "2025-11-18 and what follows", 1_763_424_000_000),
    ],
)
def test_text_is_read_as_leniently_as_java_reads_it(pattern: str, text: str, epoch_ms: int) -> None:
    assert parse_instant(pattern, text) == Instant(epoch_ms)


def test_text_that_does_not_follow_the_pattern_is_refused() -> None:
    with pytest.raises(ValueError, match="no number"):
        parse_instant("yyyy-MM-dd", "yesterday")


@pytest.mark.parametrize("pattern", ["yyyy-bb", "yyyy 'open"])
def test_patterns_that_java_refuses_are_refused(pattern: str) -> None:
    with pytest.raises(PatternInvalid):
        check_pattern(pattern)
