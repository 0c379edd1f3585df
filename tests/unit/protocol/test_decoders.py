"""Malformed input: whatever the bytes, a message or a ProtocolError, and never more than was sent."""

from __future__ import annotations

import random
import struct
import tracemalloc
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.errors import ProtocolError
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.fetch import FetchRequest
from ottla.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic
from ottla.protocol.decoders import decoder
from ottla.protocol.encoders import encoder
from ottla.protocol.schema import Struct
from tests.support import kio_oracle

EDGES = [
    (key, version)
    for key, version in kio_oracle.api_versions()
    if version in (key.first_version, key.flexible_since - 1, key.flexible_since, key.last_version)
]
IDS = [f"{key.api_name}-v{version}" for key, version in EDGES]

HUGE = [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07"]

each_edge = pytest.mark.parametrize(("key", "version"), EDGES, ids=IDS)


def decode(cls: type[Struct], key: ApiKey, version: int, body: bytes) -> Any:
    return decoder(cls, version, version >= key.flexible_since)(body, 0, len(body))


def samples(key: ApiKey, version: int) -> list[tuple[type[Struct], bytes]]:
    """An encoded request and an encoded response."""
    rng = random.Random(int(key) * 1000 + version)
    found = []
    for cls, _ in kio_oracle.messages(key, version):
        out = bytearray()
        message = kio_oracle.arbitrary(cls, version, rng)
        encoder(cls, version, version >= key.flexible_since)(message, out)
        found.append((cls, bytes(out)))
    return found


@each_edge
def test_a_message_cut_short_anywhere_is_refused(key: ApiKey, version: int) -> None:
    for cls, body in samples(key, version):
        for end in range(0, len(body), 1 + len(body) // 400):
            with pytest.raises(ProtocolError, match=f"v{version}|varint"):
                decode(cls, key, version, body[:end])


@each_edge
def test_changed_bytes_give_a_message_or_a_protocol_error(key: ApiKey, version: int) -> None:
    rng = random.Random(7)
    for cls, body in samples(key, version):
        for _ in range(60 if body else 0):
            broken = bytearray(body)
            start = rng.randrange(len(body))
            broken[start : start + 4] = rng.choice([*HUGE, rng.randbytes(3)])
            try:
                decode(cls, key, version, bytes(broken))
            except ProtocolError as refusal:
                assert str(refusal)  # noqa: PT017


@given(data=st.data(), edge=st.sampled_from(EDGES), body=st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_protocol_error(
    data: st.DataObject, edge: tuple[ApiKey, int], body: bytes
) -> None:
    key, version = edge
    cls, _ = data.draw(st.sampled_from(kio_oracle.messages(key, version)))
    with suppress(ProtocolError):
        assert isinstance(decode(cls, key, version, body), cls)


@pytest.mark.parametrize("count", [3, 2**31 - 1])
def test_a_count_is_held_against_the_bytes_that_follow(count: int) -> None:
    body = struct.pack(">i", count) + b"\x00\x01a"
    tracemalloc.start()
    with pytest.raises(ProtocolError, match=f"topics has a length of {count}"):
        decode(MetadataRequest, ApiKey.METADATA, 1, body)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 1_000_000


@pytest.mark.parametrize(
    ("version", "body", "why"),
    [
        (0, b"\xff\xff\xff\xff", "topics must not be null"),
        (1, b"\x00\x00\x00\x01\xff\xff", "name must not be null"),
        (9, b"\x02\xff\xff\xff\xff\xff\xff", "longer than five bytes"),
        (9, b"\x02\x81\x80\x02" + b"x" * 40000, "longer than 32767"),
    ],
)
def test_what_the_schema_forbids_is_named(version: int, body: bytes, why: str) -> None:
    with pytest.raises(ProtocolError, match=why):
        decode(MetadataRequest, ApiKey.METADATA, version, body)


def test_text_that_is_not_utf8_is_replaced_as_in_kafka() -> None:
    request = decode(MetadataRequest, ApiKey.METADATA, 1, b"\x00\x00\x00\x01\x00\x02a\xff")
    assert request.topics == [MetadataRequestTopic(name="a\ufffd")]


def test_unknown_tagged_fields_are_skipped_everywhere() -> None:
    unknown = b"\x02\x63\x03abc\xe8\x07\x00"
    topic = b"\x00" * 16 + b"\x02a" + unknown
    body = b"\x02" + topic + b"\x01\x00" + unknown
    request = decode(MetadataRequest, ApiKey.METADATA, 12, body)
    assert request == MetadataRequest(topics=[MetadataRequestTopic(name="a")])


def test_unknown_tagged_fields_are_skipped_beside_known_ones() -> None:
    body = bytearray()
    encoder(FetchRequest, 12, True)(FetchRequest(), body)
    assert body[-1] == 0
    tagged = bytes(body[:-1]) + b"\x02\x00\x03\x03id\x63\x03abc"
    request = decode(FetchRequest, ApiKey.FETCH, 12, tagged)
    assert request == FetchRequest(cluster_id="id")


@pytest.mark.parametrize(
    "section",
    [
        b"\x01\x63\xff\xff\xff\xff\x07",  # an unknown field of 2 GB
        b"\x01\x00\xff\xff\xff\xff\x07",  # a known one
        b"\xff\xff\xff\xff\x07",  # two billion fields
        b"\x01\x00\x01\x03id",  # a known one that is longer than it says
    ],
)
def test_tagged_fields_that_lie_about_their_size_are_refused(section: bytes) -> None:
    body = bytearray()
    encoder(FetchRequest, 12, True)(FetchRequest(), body)
    with pytest.raises(ProtocolError):
        decode(FetchRequest, ApiKey.FETCH, 12, bytes(body[:-1]) + section)
