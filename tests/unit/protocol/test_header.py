"""Request and response headers in all their versions."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.errors import ProtocolError
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.header import (
    RequestHeader,
    answer_again,
    begin_request,
    begin_response,
    parse_request_header,
    parse_response_header,
)


def header_bytes(key: int, version: int, client_id: bytes | None = b"me") -> bytes:
    length = -1 if client_id is None else len(client_id)
    return struct.pack(">hhih", key, version, 42, length) + (client_id or b"")


@pytest.mark.parametrize("client_id", ["me", "", None, "żółw"])
@pytest.mark.parametrize("version", [8, 9])
def test_what_is_written_is_read(version: int, client_id: str | None) -> None:
    frame = begin_request(ApiKey.METADATA, version, 42, client_id)
    header = parse_request_header(frame, 4, len(frame))
    assert header == RequestHeader(3, version, 42, client_id, len(frame))


def test_a_flexible_header_may_carry_tagged_fields_nobody_knows() -> None:
    raw = header_bytes(3, 9) + b"\x01\x63\x03abc" + b"body"
    header = parse_request_header(raw, 0, len(raw))
    assert raw[header.body_pos :] == b"body"


def test_sasl_handshake_is_never_flexible() -> None:
    raw = header_bytes(17, 1)
    assert parse_request_header(raw, 0, len(raw)).body_pos == len(raw)


def test_an_unknown_api_is_named_so_that_it_can_be_refused() -> None:
    raw = header_bytes(4711, 99)
    header = parse_request_header(raw, 0, len(raw))
    assert (header.api_key, header.version, header.client_id) == (4711, 99, "me")


def test_a_client_id_that_is_not_text_costs_no_connection() -> None:
    raw = header_bytes(3, 8, b"caf\xe9")
    assert parse_request_header(raw, 0, len(raw)).client_id == "caf\ufffd"


def test_a_header_ends_where_its_region_ends() -> None:
    raw = header_bytes(3, 9) + b"\x00"
    for end in range(len(raw)):
        with pytest.raises(ProtocolError):
            parse_request_header(raw + b"\x00" * 50, 0, end)


def test_a_tagged_field_of_absurd_size_is_refused() -> None:
    raw = header_bytes(3, 9) + b"\x01\x63\xff\xff\xff\xff\x07"
    with pytest.raises(ProtocolError):
        parse_request_header(raw, 0, len(raw))


@given(st.binary(max_size=40))
def test_any_bytes_are_a_header_or_a_protocol_error(raw: bytes) -> None:
    try:
        header = parse_request_header(raw, 0, len(raw))
    except ProtocolError:
        return
    assert header.body_pos <= len(raw)


@pytest.mark.parametrize(
    ("key", "version", "size"),
    [(ApiKey.METADATA, 8, 8), (ApiKey.METADATA, 9, 9), (ApiKey.API_VERSIONS, 3, 8)],
)
def test_response_headers(key: ApiKey, version: int, size: int) -> None:
    frame = begin_response(key, version, 42)
    assert len(frame) == size
    assert parse_response_header(key, version, frame[4:]) == (42, size - 4)


@pytest.mark.parametrize("raw", [b"", b"\x00\x00\x00", b"\x00\x00\x00\x01"])
def test_a_response_cut_in_its_header_is_refused(raw: bytes) -> None:
    with pytest.raises(ProtocolError):
        parse_response_header(ApiKey.METADATA, 9, raw)


@pytest.mark.parametrize("version", [2, 3])
def test_the_same_answer_goes_to_another_request(version: int) -> None:
    first = bytes(begin_response(ApiKey.END_TXN, version, 42))
    assert answer_again(first, 43) == begin_response(ApiKey.END_TXN, version, 43)
