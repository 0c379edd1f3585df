"""Requests to a group coordinator over a bare connection, and the wait until there is one."""

from __future__ import annotations

import socket
import time
from typing import Any

from benchmarks.clients.connection import connect, read_frame
from ottla.protocol.apis.find_coordinator import FindCoordinatorRequest
from ottla.protocol.apis.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from ottla.protocol.codec import decode_response, encode_request
from ottla.protocol.schema import Request

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


def connect_to_coordinator(bootstrap: str, group: str) -> socket.socket:
    """A connection to whichever broker coordinates the group, once it does."""
    with connect(bootstrap.partition(",")[0]) as first:
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        while (found := _find(first, group)).error_code:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no coordinator of {group} in {READY_WITHIN_SECONDS:.0f} s")
            time.sleep(0.05)
    connection = connect(f"{found.host}:{found.port}")
    wait_for_coordinator(connection, group)
    return connection


def _find(connection: socket.socket, group: str) -> Any:
    [found] = ask(connection, FindCoordinatorRequest(coordinator_keys=[group]), 4).coordinators
    return found


def wait_for_coordinator(connection: socket.socket, group: str) -> None:
    """Returns when the broker coordinates the group; the first who asks makes it set up its topic."""
    deadline = time.monotonic() + READY_WITHIN_SECONDS
    while not _is_ready(connection, group):
        if time.monotonic() > deadline:
            raise TimeoutError(f"no coordinator of {group} in {READY_WITHIN_SECONDS:.0f} s")
        time.sleep(0.05)


def _is_ready(connection: socket.socket, group: str) -> bool:
    if _find(connection, group).error_code:
        return False
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
    return not ask(connection, request, 8).groups[0].error_code
