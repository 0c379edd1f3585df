"""Many connections, each sending one-record produce requests, one in flight at a time."""

from __future__ import annotations

import json
import select
import socket
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.clients.connection import BrokerRefused, connect
from benchmarks.clients.stopwatch import Stopwatch
from benchmarks.frames import batch, produce_error, produce_request
from benchmarks.payloads import sample_values

REPLY_BYTES = 4096
EVENTS_BETWEEN_CLOCK_READS = 1024
NO_ERROR = b"\0\0"


def drive(requests: Sequence[tuple[socket.socket, bytes]], error_at: int, seconds: float) -> int:
    """Sends each connection's request anew whenever its answer has come; returns the answers.

    A client that takes long is part of both brokers' time: sockets block, so that nobody asks them first whether they
    would, and where there is only one, nobody asks which one is ready.
    """
    for connection, _ in requests:
        connection.settimeout(None)
    if len(requests) == 1:
        return _drive_one(*requests[0], error_at, seconds)
    poll = select.epoll()  # ended with the process
    by_descriptor = {connection.fileno(): (connection, frame) for connection, frame in requests}
    for connection, frame in requests:
        poll.register(connection.fileno(), select.EPOLLIN)
        connection.sendall(frame)
    done, next_look, deadline = 0, EVENTS_BETWEEN_CLOCK_READS, time.perf_counter() + seconds
    while True:
        for descriptor, _ in poll.poll():
            connection, frame = by_descriptor[descriptor]
            if connection.recv(REPLY_BYTES)[error_at : error_at + 2] != NO_ERROR:
                raise BrokerRefused("the broker answered a request with an error")
            connection.send(frame)
            done += 1
        if done >= next_look:
            next_look = done + EVENTS_BETWEEN_CLOCK_READS
            if time.perf_counter() >= deadline:
                return done


def _drive_one(connection: socket.socket, frame: bytes, error_at: int, seconds: float) -> int:
    done, deadline = 0, time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        for _ in range(EVENTS_BETWEEN_CLOCK_READS):
            connection.send(frame)
            if connection.recv(REPLY_BYTES)[error_at : error_at + 2] != NO_ERROR:
                raise BrokerRefused("the broker answered a request with an error")
        done += EVENTS_BETWEEN_CLOCK_READS
    return done


def main(spec: dict[str, Any]) -> dict[str, float]:
    """Opens the connections, then counts answers for some seconds."""
    topic, leaders = spec["topic"], spec["leaders"]
    record = batch(sample_values(1, int(spec["value_size"])))
    requests = []
    for number in range(int(spec["connections"])):
        partition = number % len(leaders)
        connection, frame = connect(leaders[partition]), produce_request(topic, partition, record)
        requests.append((connection, frame))
        connection.sendall(frame)
        error = produce_error(topic, connection.recv(REPLY_BYTES))
        if error:
            raise BrokerRefused(f"the broker answered a produce request with error {error}")
    error_at = 4 + 4 + 4 + 2 + len(topic) + 4 + 4
    with Stopwatch() as watch:
        done = drive(requests, error_at, spec["seconds"])
    return {"records": done, "seconds": watch.seconds, "busy": watch.busy}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
