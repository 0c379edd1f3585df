"""Keys of a column go where the Java client sends them."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.client.partitioners import partition_for_key
from ottla.pipeline.murmur2 import partitions

JAVA = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


def test_hashes_are_those_of_the_java_client():
    keys = pa.array(list(JAVA))
    assert partitions(keys, 2**31 - 1).tolist() == [
        (signed & 0x7FFF_FFFF) % (2**31 - 1) for signed in JAVA.values()
    ]


@given(st.lists(st.none() | st.binary(max_size=70)), st.integers(1, 1_000), st.integers(0, 3))
def test_a_column_of_keys_goes_where_each_key_alone_would_go(keys, count, skipped):
    expected = [-1 if key is None else partition_for_key(key, count) for key in keys]
    found = partitions(pa.array(keys, pa.binary())[skipped:], count)
    assert found.tolist() == expected[skipped:]


def test_text_goes_where_its_bytes_go():
    keys = ["customer 7", None, "naïve"]
    as_bytes = partitions(pa.array([key and key.encode() for key in keys]), 12).tolist()
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        assert partitions(pa.array(keys, kind), 12).tolist() == as_bytes
    assert partitions(pa.nulls(2), 12).tolist() == [-1, -1]
    assert partitions(pa.array([], pa.binary()), 12).tolist() == []


def test_a_topic_without_partitions_is_refused():
    with pytest.raises(ValueError, match="a topic of 0 partitions"):
        partitions(pa.array([b"key"]), 0)
