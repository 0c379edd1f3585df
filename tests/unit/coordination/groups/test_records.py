"""The records of classic groups, byte for byte as Kafka writes them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.errors import ProtocolError
from ottla.coordination.groups.records import (
    GroupMember,
    GroupValue,
    decode_group_key,
    decode_group_value,
    group_record,
    key_version,
)

VALUE = GroupValue(
    protocol_type="consumer",
    generation=7,
    protocol="range",
    leader="m-1",
    state_timestamp_ms=1_700_000_000_000,
    members=[
        GroupMember(
            member_id="m-1",
            group_instance_id=None,
            client_id="c",
            client_host="/h",
            rebalance_timeout_ms=300_000,
            session_timeout_ms=45_000,
            subscription=b"\0\1",
            assignment=b"\0\2",
        )
    ],
)


def test_the_bytes_are_kafkas() -> None:
    key, value = group_record("g", VALUE)
    assert key == bytes.fromhex("0002 0001 67".replace(" ", ""))
    assert value == b"".join(
        (
            bytes.fromhex("0003"),
            b"\0\x08consumer",
            (7).to_bytes(4, "big"),
            b"\0\x05range",
            b"\0\x03m-1",
            (1_700_000_000_000).to_bytes(8, "big"),
            (1).to_bytes(4, "big"),
            b"\0\x03m-1" + b"\xff\xff" + b"\0\x01c" + b"\0\x02/h",
            (300_000).to_bytes(4, "big") + (45_000).to_bytes(4, "big"),
            b"\0\0\0\x02\0\1" + b"\0\0\0\x02\0\2",
        )
    )


def test_a_group_that_is_gone_has_no_value() -> None:
    key, value = group_record("gruppe-ü", None)
    assert value is None
    assert (key_version(key), decode_group_key(key)) == (2, "gruppe-ü")


def test_version_0_knew_no_rebalance_timeout() -> None:
    old = b"\0\0" + b"\0\x08consumer" + bytes(4) + b"\xff\xff\xff\xff" + (1).to_bytes(4, "big")
    old += b"\0\x01m\0\x01c\0\x01h" + (6000).to_bytes(4, "big") + bytes(8)
    found = decode_group_value(old)
    assert (found.protocol, found.leader, found.state_timestamp_ms) == (None, None, -1)
    assert (found.members[0].session_timeout_ms, found.members[0].rebalance_timeout_ms) == (6000, 0)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_group_are_refused_in_one_way(data: bytes) -> None:
    for read in (decode_group_value, decode_group_key, key_version):
        with contextlib.suppress(ProtocolError):
            read(data)


def test_a_version_from_the_future_is_refused() -> None:
    with pytest.raises(ProtocolError, match="version 9"):
        decode_group_value(b"\0\x09")
