"""Frames are the same however the bytes are cut, and nothing is made of a length that cannot be."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.client.inbox import Inbox

SMALL = 64
"""With an inbox of this size, short stories have frames of every kind."""


def framed(number: int, padding: int) -> bytes:
    return struct.pack(">ii", 4 + padding, number) + bytes([number % 256]) * padding


def feed(inbox: Inbox, data: bytes, cut: list[int]) -> list[bytes]:
    """All frames, given bytes in pieces of these sizes, over and over."""
    found: list[bytes] = []
    turn = 0
    while data:
        room = inbox.room()
        size = min(cut[turn % len(cut)], len(room), len(data))
        room[:size] = data[:size]
        data, turn = data[size:], turn + 1
        found += [bytes(frame) for frame in inbox.received(size, lambda size, number: None)]
    return found


@given(
    paddings=st.lists(st.integers(0, 300), min_size=1, max_size=12),
    cut=st.lists(st.integers(1, 200), min_size=1),
)
def test_frames_are_the_same_however_the_bytes_are_cut(paddings: list[int], cut: list[int]) -> None:
    frames = [framed(number, padding) for number, padding in enumerate(paddings)]
    inbox = Inbox(SMALL)
    assert feed(inbox, b"".join(frames), cut) == [frame[4:] for frame in frames]
    assert inbox.seen() == b""


def test_a_frame_that_was_handed_out_stays_as_it_was() -> None:
    inbox = Inbox(SMALL)
    inbox.room()[:12] = framed(1, 4)
    [kept] = inbox.received(12, lambda size, number: None)
    inbox.room()[:12] = framed(2, 4)
    [other] = inbox.received(12, lambda size, number: None)
    assert (bytes(kept), bytes(other)) == (framed(1, 4)[4:], framed(2, 4)[4:])


def test_a_length_is_checked_before_anything_is_made_of_it() -> None:
    inbox = Inbox(SMALL)
    inbox.room()[:8] = struct.pack(">ii", 2**31 - 1, 7)

    def refuse(size: int, number: int) -> None:
        assert (size, number) == (2**31 - 1, 7)
        raise ValueError("too long")

    with pytest.raises(ValueError, match="too long"):
        list(inbox.received(8, refuse))
    assert len(inbox.seen()) == 8
