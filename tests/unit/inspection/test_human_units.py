"""Times, sizes and numbers, as people write and read them."""

import pytest

from ottla.inspection.human_units import (
    counted,
    duration_ms,
    iso,
    moment_ms,
    short_duration,
    short_size,
)


@pytest.mark.parametrize(
    ("text", "ms"),
    [("90s", 90_000), ("1h30m", 5_400_000), ("2d", 172_800_000), ("1.5s", 1500), ("20ms", 20)],
)
def test_durations(text: str, ms: int) -> None:
    assert duration_ms(text) == ms


@pytest.mark.parametrize("text", ["", "1", "h", "1x", "-1h", "1h x", "1hour"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write 90s, 1h30m or 2d"):
        duration_ms(text)


def test_moments_are_in_utc_unless_they_say_otherwise() -> None:
    assert moment_ms("2026-01-31T12:00:00") == 1_769_860_800_000
    assert moment_ms("2026-01-31T13:00:00+01:00") == moment_ms("2026-01-31T12:00")
    assert moment_ms("1769860800000") == 1_769_860_800_000
    assert iso(1_769_860_800_123) == "2026-01-31T12:00:00.123Z"
    assert (iso(-1), iso(2**62)) == ("-", str(2**62))
    with pytest.raises(ValueError, match="is no time"):
        moment_ms("teatime")


def test_short_words() -> None:
    assert [short_duration(s) for s in (0.0123, 5, 90, 7200, 604_800)] == [
        "12 ms", "5 s", "1.5 min", "2 h", "7 days",
    ]  # fmt: skip
    assert [short_size(n) for n in (5, 1500, 2_500_000)] == ["5 B", "1.5 kB", "2.5 MB"]
    assert (counted(1, "record"), counted(0, "record")) == ("1 record", "0 records")
