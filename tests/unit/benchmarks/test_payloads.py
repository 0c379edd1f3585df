"""Values for the benchmarks are distinct, of the asked size, and compress a little."""

import zlib

import pytest

from benchmarks.payloads import sample_values


@pytest.mark.parametrize("size", [20, 100, 1000])
def test_values_have_exactly_the_asked_size(size: int) -> None:
    assert {len(value) for value in sample_values(500, size)} == {size}


def test_values_are_distinct_the_same_every_time_and_compressible_like_events() -> None:
    values = sample_values(1000, 100)

    assert len(set(values)) == 1000
    assert values == sample_values(1000, 100)
    assert 0.1 < len(zlib.compress(b"".join(values))) / 100_000 < 0.6
