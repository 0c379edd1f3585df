"""Asks a port whether a Kafka-compatible broker serves there, without any client library."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable

METADATA_KEY, METADATA_VERSION = 3, 1
CLIENT_ID = b"probe"
POLL_SECONDS = 0.005


class NotServing(Exception):
    """The broker did not answer in time, or ended before it did."""


def _metadata_request() -> bytes:
    """A Metadata v1 request for no topic: the smallest question that names the brokers."""
    header = struct.pack(">hhih", METADATA_KEY, METADATA_VERSION, 1, len(CLIENT_ID)) + CLIENT_ID
    frame = header + struct.pack(">i", 0)
    return struct.pack(">i", len(frame)) + frame


def broker_count(host: str, port: int, timeout_seconds: float = 2.0) -> int:
    """How many live brokers the one at this address knows; raises OSError if it cannot say."""
    with socket.create_connection((host, port), timeout_seconds) as connection:
        connection.sendall(_metadata_request())
        answer = b""
        while len(answer) < 12:
            received = connection.recv(65536)
            if not received:
                raise ConnectionResetError(f"{host}:{port} closed the connection")
            answer += received
    # length and correlation id come first, then the array of brokers
    return int(struct.unpack_from(">i", answer, 8)[0])


def wait_until_serving(
    host: str, port: int, timeout_seconds: float = 60.0, alive: Callable[[], bool] = lambda: True
) -> None:
    """Returns as soon as the broker names itself in its metadata."""
    deadline = time.monotonic() + timeout_seconds
    while time.monotonic() < deadline:
        if not alive():
            raise NotServing(f"the broker for {host}:{port} ended before it served")
        try:
            if broker_count(host, port) > 0:
                return
        except OSError:
            pass
        time.sleep(POLL_SECONDS)
    raise NotServing(f"no broker served at {host}:{port} within {timeout_seconds:.0f} s")
