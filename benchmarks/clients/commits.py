"""Many groups, each committing an offset on a connection of its own, one commit in flight at a time."""

from __future__ import annotations

import json
import sys
from typing import Any

from benchmarks.clients.connection import BrokerRefused
from benchmarks.clients.coordinator import connect_to_coordinator
from benchmarks.clients.requests import REPLY_BYTES, drive
from benchmarks.clients.stopwatch import Stopwatch
from ottla.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.codec import encode_request

VERSION = 7
NO_ERROR = b"\0\0"


def commit_request(group: str, topic: str) -> bytes:
    """A commit of one offset by somebody who is no member."""
    position = OffsetCommitRequestPartition(partition_index=0, committed_offset=1_000_000)
    named = OffsetCommitRequestTopic(name=topic, partitions=[position])
    request = OffsetCommitRequest(group_id=group, topics=[named])
    return bytes(encode_request(request, VERSION, 1, "bench"))


def main(spec: dict[str, Any]) -> dict[str, float]:
    """Commits once for each group, then counts commits for some seconds."""
    topic = spec["topic"]
    groups = [f"{topic}-group-{number}" for number in range(int(spec["connections"]))]
    # length, correlation id, throttle time, topics, name, partitions, index
    error_at = 4 + 4 + 4 + 4 + 2 + len(topic) + 4 + 4
    requests = []
    for group in groups:
        frame = commit_request(group, topic)
        connection = connect_to_coordinator(spec["bootstrap"], group)
        connection.sendall(frame)
        if connection.recv(REPLY_BYTES)[error_at : error_at + 2] != NO_ERROR:
            raise BrokerRefused("the broker refused a commit")
        requests.append((connection, frame))
    with Stopwatch() as watch:
        done = drive(requests, error_at, spec["seconds"])
    for connection, _ in requests:
        connection.close()
    return {"commits": done, "seconds": watch.seconds, "busy": watch.busy}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
