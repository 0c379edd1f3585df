"""Which coordinator a name belongs to: as in Kafka, and names can be found that belong to a given one."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.coordination.routing import java_hash, names_beside, partition_for


@pytest.mark.parametrize(
    ("text", "hashed"),
    [("", 0), ("a", 97), ("hello", 99162322), ("polygenelubricants", -(2**31))],
)
def test_the_hash_is_javas(text: str, hashed: int) -> None:
    assert java_hash(text) == hashed
    assert java_hash(text[1:], java_hash(text[:1])) == hashed


def test_the_smallest_number_has_no_opposite() -> None:
    assert partition_for("polygenelubricants", 50) == 0


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from([1, 4, 50, 1_000]))
def test_names_beside_another_are_coordinated_with_it(key: str, stem: str, count: int) -> None:
    names = list(islice(names_beside(key, stem, count), 3))
    assert len(set(names)) == 3
    assert all(name.startswith(stem) for name in names)
    assert {partition_for(name, count) for name in names} == {partition_for(key, count)}
