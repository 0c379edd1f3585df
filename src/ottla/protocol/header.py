"""Pure: the headers in front of requests and responses.

Request headers are version 2 for flexible versions of an API, else 1; response headers 1 or 0
alike, except that of ApiVersions, which is 0 always: its reader does not know yet what the broker
speaks.
"""

from __future__ import annotations

from struct import Struct, error
from typing import NamedTuple

from ottla.base.errors import ProtocolError
from ottla.protocol.api_keys import NEVER, ApiKey
from ottla.protocol.schema import Records
from ottla.protocol.varint import skip_tagged_fields

_REQUEST = Struct(">hhih")
_REQUEST_BYTES = _REQUEST.size
_RESPONSE = Struct(">i")
_LENGTH_BYTES = 4
_FRAMED_REQUEST = Struct(">ihhih")
_FRAMED_RESPONSE = Struct(">ii")
_FRAMED_FLEXIBLE_RESPONSE = Struct(">iix")
_FLEXIBLE_SINCE = {int(key): key.flexible_since for key in ApiKey}


class RequestHeader(NamedTuple):
    """What a request says before its body, which begins at `body_pos`."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    body_pos: int


def parse_request_header(buf: Records, pos: int, end: int) -> RequestHeader:
    """Read the header of the request in `buf[pos:end]`; that of an unknown API as version 1."""
    try:
        api_key, version, correlation_id, length = _REQUEST.unpack_from(buf, pos)
        pos += _REQUEST_BYTES
        client_id = None
        if length >= 0:
            client_id = str(buf[pos : pos + length], "utf-8", "replace")
            pos += length
        if version >= _FLEXIBLE_SINCE.get(api_key, NEVER):
            pos = pos + 1 if buf[pos] == 0 else skip_tagged_fields(memoryview(buf)[:end], pos)
    except (error, IndexError):
        pos = end + 1
    if pos > end:
        raise ProtocolError("a request ends in the middle of its header")
    # Not RequestHeader(...), which is a Python function and took a sixth of this one's time.
    return tuple.__new__(RequestHeader, (api_key, version, correlation_id, client_id, pos))


def begin_request(
    key: ApiKey, version: int, correlation_id: int, client_id: str | None
) -> bytearray:
    """The beginning of a request frame, its length still zero."""
    name = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(name)
    out = bytearray(_FRAMED_REQUEST.pack(0, key, version, correlation_id, length))
    out += name
    if version >= key.flexible_since:
        out.append(0)
    return out


def begin_response(key: ApiKey, version: int, correlation_id: int) -> bytearray:
    """The beginning of a response frame, its length still zero."""
    if version >= key.flexible_since and key is not ApiKey.API_VERSIONS:
        return bytearray(_FRAMED_FLEXIBLE_RESPONSE.pack(0, correlation_id))
    return bytearray(_FRAMED_RESPONSE.pack(0, correlation_id))


def answer_again(response: bytes, correlation_id: int) -> bytearray:
    """A response frame that says what another has said before."""
    out = bytearray(response)
    _RESPONSE.pack_into(out, _LENGTH_BYTES, correlation_id)
    return out


def parse_response_header(key: ApiKey, version: int, buf: Records) -> tuple[int, int]:
    """The correlation id of a response, and the position of its body."""
    try:
        correlation_id: int = _RESPONSE.unpack_from(buf)[0]
        if version >= key.flexible_since and key is not ApiKey.API_VERSIONS:
            return correlation_id, skip_tagged_fields(memoryview(buf), _RESPONSE.size)
    except (error, IndexError):
        raise ProtocolError("a response ends in the middle of its header") from None
    return correlation_id, _RESPONSE.size
