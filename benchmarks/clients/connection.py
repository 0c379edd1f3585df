"""A bare connection to a broker: frames out, frames in, nothing else."""

from __future__ import annotations

import socket
import struct

TIMEOUT_SECONDS = 60.0


class BrokerRefused(Exception):
    """The broker answered with an error code."""


def connect(bootstrap: str) -> socket.socket:
    """Opens a connection without delay of small packets."""
    host, _, port = bootstrap.rpartition(":")
    connection = socket.create_connection((host, int(port)), TIMEOUT_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def read_frame(connection: socket.socket, buffer: memoryview) -> memoryview:
    """Reads one whole frame, its length included, into a buffer that must be large enough."""
    end = _read_at_least(connection, buffer, 0, 4)
    size = 4 + int(struct.unpack_from(">i", buffer)[0])
    end = _read_at_least(connection, buffer[:size], end, size)
    return buffer[:end]


def _read_at_least(connection: socket.socket, buffer: memoryview, have: int, wanted: int) -> int:
    while have < wanted:
        received = connection.recv_into(buffer[have:])
        if received == 0:
            raise ConnectionResetError("the broker closed the connection")
        have += received
    return have
