"""A frame under way: memory follows the bytes received, never the bytes claimed."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.errors import ProtocolError
from ottla.broker.frames import PartialFrame

LIMIT = 100 * 1024 * 1024


def whole(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


@given(st.binary(min_size=1, max_size=20_000), st.data())
def test_a_frame_cut_anywhere_comes_out_whole(body: bytes, data: st.DataObject) -> None:
    sent = whole(body)
    first = data.draw(st.integers(1, len(sent) - 1))
    partial = PartialFrame(memoryview(sent)[:first], LIMIT)
    pos, frame = first, None
    while frame is None:
        room = partial.room()
        size = data.draw(st.integers(1, min(len(room), len(sent) - pos)))
        room[:size] = sent[pos : pos + size]
        pos += size
        frame = partial.received(size)
    assert bytes(frame) == body
    assert pos == len(sent)


def test_room_never_reaches_into_the_next_frame() -> None:
    partial = PartialFrame(memoryview(whole(b"x" * 10))[:6], LIMIT)
    assert len(partial.room()) == 8


def test_a_claim_of_100_megabytes_costs_what_was_sent() -> None:
    claim = struct.pack(">i", LIMIT) + b"ten bytes!"
    assert len(PartialFrame(memoryview(claim), LIMIT).room()) < 8192


@pytest.mark.parametrize("size", [-1, -(2**31), LIMIT + 1, 2**31 - 1])
def test_absurd_lengths_are_refused(size: int) -> None:
    with pytest.raises(ProtocolError, match=str(size)):
        PartialFrame(memoryview(struct.pack(">i", size) + b"x"), LIMIT)


def test_a_length_that_arrives_in_two_pieces_is_checked_too() -> None:
    partial = PartialFrame(memoryview(b"\xff\xff"), LIMIT)
    partial.room()[:2] = b"\xff\xff"
    with pytest.raises(ProtocolError):
        partial.received(2)
