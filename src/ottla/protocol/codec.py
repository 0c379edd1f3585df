"""Pure: frames and bodies of requests and responses, from bytes to messages and back.

The module of an API is imported when the API is first met: what is not used costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from struct import Struct
from typing import Any

from ottla.base.errors import ProtocolError
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.decoders import decoder
from ottla.protocol.encoders import encoder
from ottla.protocol.header import begin_request, begin_response, parse_response_header
from ottla.protocol.schema import Records, Request, Response

_LENGTH = Struct(">i")


def decode_request(api_key: int, version: int, buf: Records, pos: int, end: int) -> Any:
    """The request whose body is `buf[pos:end]`; only its `records` are views into `buf`."""
    return _request_decoder(api_key, version)(buf, pos, end)


def encode_response(response: Response, version: int, correlation_id: int) -> bytearray:
    """The whole frame of a response, length and header included."""
    key = response.api_key
    out = begin_response(key, version, correlation_id)
    return _finish(response, version, version >= key.flexible_since, out)


def encode_request(
    request: Request, version: int, correlation_id: int, client_id: str | None
) -> bytearray:
    """The whole frame of a request, length and header included."""
    key = request.api_key
    out = begin_request(key, version, correlation_id, client_id)
    return _finish(request, version, version >= key.flexible_since, out)


def decode_response(api_key: int, version: int, buf: Records) -> tuple[int, Any]:
    """The correlation id and the response in `buf`, a frame without its length."""
    correlation_id, pos = parse_response_header(ApiKey(api_key), version, buf)
    return correlation_id, _response_decoder(api_key, version)(buf, pos, len(buf))


@cache
def request_class(key: ApiKey) -> type[Request]:
    """The class of an API's request."""
    found: type[Request] = getattr(_module(key), f"{key.api_name}Request")
    return found


@cache
def response_class(key: ApiKey) -> type[Response]:
    """The class of an API's response."""
    found: type[Response] = getattr(_module(key), f"{key.api_name}Response")
    return found


def _finish(message: Request | Response, version: int, flexible: bool, out: bytearray) -> bytearray:
    encoder(type(message), version, flexible)(message, out)
    _LENGTH.pack_into(out, 0, len(out) - _LENGTH.size)
    return out


@cache
def _request_decoder(api_key: int, version: int) -> Callable[[Records, int, int], Any]:
    key = _known(api_key, version)
    return decoder(request_class(key), version, version >= key.flexible_since)


@cache
def _response_decoder(api_key: int, version: int) -> Callable[[Records, int, int], Any]:
    key = _known(api_key, version)
    return decoder(response_class(key), version, version >= key.flexible_since)


def _known(api_key: int, version: int) -> ApiKey:
    try:
        key = ApiKey(api_key)
    except ValueError:
        raise ProtocolError(f"there is no API with the key {api_key}") from None
    if not key.first_version <= version <= key.last_version:
        raise ProtocolError(f"there is no version {version} of {key.api_name}")
    return key


def _module(key: ApiKey) -> Any:
    name = f"ottla.protocol.apis.{key.name.lower()}"
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise ProtocolError(f"{key.api_name} is not in the tables") from None
