"""Requests to a coordinator over a bare connection, and the wait until there is one."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any, Final

from benchmarks.clients.connection import connect, read_frame
from ottla.protocol.apis.find_coordinator import FindCoordinatorRequest
from ottla.protocol.apis.init_producer_id import InitProducerIdRequest
from ottla.protocol.apis.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from ottla.protocol.codec import decode_response, encode_request
from ottla.protocol.schema import Request

GROUP: Final = 0
TRANSACTION: Final = 1
"""What FindCoordinator is asked for."""
TRANSACTION_TIMEOUT_MS = 60_000
READY_WITHIN_SECONDS = 60.0
LARGEST_REPLY = 1 << 20

# One for all, as every reply is decoded before the next is read; to make a new one takes longer than many a request.
_buffer = memoryview(bytearray(LARGEST_REPLY))


def send(connection: socket.socket, request: Request, version: int) -> None:
    """Sends a request; its answer is to be received before the next is sent."""
    connection.sendall(encode_request(request, version, 1, "bench"))


def receive(connection: socket.socket, request: Request, version: int) -> Any:
    """The answer to the request sent last."""
    reply = read_frame(connection, _buffer)
    return decode_response(request.api_key, version, bytes(reply[4:]))[1]


def ask(connection: socket.socket, request: Request, version: int) -> Any:
    """Sends a request and waits for its answer."""
    send(connection, request, version)
    return receive(connection, request, version)


def connect_to_coordinator(bootstrap: str, key: str, key_type: int = GROUP) -> socket.socket:
    """A connection to whichever broker coordinates a group or a transactional id, once it does."""
    with connect(bootstrap.partition(",")[0]) as first:
        found = _once_ready(key, lambda: _find(first, key, key_type))
    connection = connect(f"{found.host}:{found.port}")
    if key_type == GROUP:
        wait_for_coordinator(connection, key)
    return connection


def _find(connection: socket.socket, key: str, key_type: int = GROUP) -> Any:
    request = FindCoordinatorRequest(coordinator_keys=[key], key_type=key_type)
    [found] = ask(connection, request, 4).coordinators
    return found


def wait_for_coordinator(connection: socket.socket, group: str) -> None:
    """Returns when the broker coordinates the group; the first who asks makes it set up its topic."""
    _once_ready(group, lambda: _positions(connection, group))


def initialize_producer(connection: socket.socket, transactional_id: str) -> tuple[int, int]:
    """The producer id and epoch that the coordinator gives to a transactional id, once it serves it."""
    request = InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS
    )
    granted = _once_ready(transactional_id, lambda: ask(connection, request, 4))
    return granted.producer_id, granted.producer_epoch


def _once_ready(key: str, attempt: Callable[[], Any]) -> Any:
    """The first answer without an error."""
    deadline = time.monotonic() + READY_WITHIN_SECONDS
    while (answer := attempt()).error_code:
        if time.monotonic() > deadline:
            raise TimeoutError(f"no coordinator of {key} in {READY_WITHIN_SECONDS:.0f} s")
        time.sleep(0.05)
    return answer


def _positions(connection: socket.socket, group: str) -> Any:
    found = _find(connection, group)
    if found.error_code:
        return found
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
    return ask(connection, request, 8).groups[0]
