"""Frames that lie, break off or make no sense: the connection is closed, and nothing else happens."""

import struct
from collections.abc import Callable

import pytest
from kafka.protocol.metadata import ApiVersionsResponse, MetadataRequest, MetadataResponse

from tests.robustness.conftest import Target
from tests.support.wire import CORRELATION_ID, Wire, frame_of, raw_frame

pytestmark = pytest.mark.compat

UNSUPPORTED_VERSION = 35
INVALID_REQUEST = 42
API_VERSIONS, METADATA, PRODUCE, FETCH = 18, 3, 0, 1

CLOSED = {
    "a length above socket.request.max.bytes": struct.pack(">i", 100 * 1024 * 1024 + 1),
    "the largest length": b"\x7f\xff\xff\xff",
    "a negative length": b"\xff\xff\xff\xff",
    "a length of nothing": b"\0\0\0\0",
    "a frame shorter than a header": b"\0\0\0\4abcd",
    "the greeting of a web browser": b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n",
    "the greeting of a TLS client": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "an unknown API": raw_frame(999, 0),
    "a negative API": raw_frame(-1, 0),
    "an API that only old brokers knew": raw_frame(4, 0, b"\0" * 20),
    "a version from before Kafka 2.1": raw_frame(FETCH, 3, b"\0" * 20),
    "produce in a version that is advertised but gone": raw_frame(PRODUCE, 2, b"\0" * 20),
    "a version from the future": raw_frame(FETCH, 99, b"\0" * 20),
    "a negative version": raw_frame(METADATA, -1, b"\0" * 4),
    "a count of two thousand million": raw_frame(METADATA, 1, b"\x7f\xff\xff\xff"),
    "a varint without end": raw_frame(METADATA, 9, b"\xff" * 10, flexible=True),
    "a string longer than the frame": raw_frame(METADATA, 1, struct.pack(">ih", 1, 32000) + b"x"),
    "a body that breaks off": raw_frame(METADATA, 9, b"", flexible=True),
    "a client id longer than the frame": b"\0\0\0\x0a" + struct.pack(">hhih", 3, 1, 1, 9999),
}


@pytest.mark.parametrize("data", CLOSED.values(), ids=CLOSED.keys())
def test_nonsense_closes_the_connection(
    attacker: Wire, data: bytes, one_log_line: Callable[[], None]
) -> None:
    attacker.send_bytes(data)
    assert attacker.is_closed()
    one_log_line()


def test_requests_before_the_nonsense_are_answered(attacker: Wire) -> None:
    request = MetadataRequest[1](topics=[])
    attacker.send_bytes(frame_of(request, 1) + raw_frame(999, 0) + frame_of(request, 2))
    assert attacker.receive(request).header.correlation_id == 1
    assert attacker.is_closed()


@pytest.mark.parametrize("version", [5, 99, 32767])
def test_api_versions_from_the_future_are_answered_in_version_zero(
    attacker: Wire, version: int
) -> None:
    attacker.send_bytes(raw_frame(API_VERSIONS, version, b"\x05wire\x021\0", flexible=True))
    answer = ApiVersionsResponse.decode(attacker.receive_bytes()[4:], version=0)
    [row] = answer.api_keys
    assert answer.error_code == UNSUPPORTED_VERSION
    assert (row.api_key, row.min_version, row.max_version) == (API_VERSIONS, 0, 4)
    attacker.send_bytes(raw_frame(API_VERSIONS, 0))
    assert ApiVersionsResponse.decode(attacker.receive_bytes()[4:], version=0).error_code == 0


def test_a_client_without_a_name_is_an_invalid_request(attacker: Wire) -> None:
    attacker.send_bytes(raw_frame(API_VERSIONS, 3, b"\x01\x01\0", flexible=True))
    assert struct.unpack_from(">ih", attacker.receive_bytes()) == (CORRELATION_ID, INVALID_REQUEST)


def test_unknown_tagged_fields_are_skipped(attacker: Wire) -> None:
    tags = b"\x02\x63\x03abc\xff\x01\x00"
    body = b"\x01\x00\x00\x00" + tags
    header = struct.pack(">hhih", METADATA, 9, 7, 4) + b"wire" + tags
    attacker.send_bytes(struct.pack(">i", len(header + body)) + header + body)
    answer = MetadataResponse.decode(attacker.receive_bytes(), version=9, header=True)
    assert len(answer.brokers) == 1


def test_bytes_behind_the_body_are_ignored(attacker: Wire) -> None:
    attacker.send_bytes(raw_frame(METADATA, 1, b"\0\0\0\0" + b"trailing"))
    answer = MetadataResponse.decode(attacker.receive_bytes(), version=1, header=True)
    assert len(answer.brokers) == 1


def test_a_connection_that_breaks_off_in_the_middle_is_forgotten(target: Target) -> None:
    frame = frame_of(MetadataRequest[1](topics=[]))
    for length in range(len(frame)):
        with Wire(target.bootstrap) as wire:
            wire.send_bytes(frame[:length])
    with Wire(target.bootstrap) as wire:
        wire.send_bytes(frame)
        assert len(wire.receive(MetadataRequest[1](topics=[])).brokers) == 1


def test_a_frame_in_single_bytes_is_still_a_frame(attacker: Wire) -> None:
    request = MetadataRequest[1](topics=[])
    for byte in frame_of(request):
        attacker.send_bytes(bytes([byte]))
    assert len(attacker.receive(request).brokers) == 1


def test_claims_cost_no_memory(target: Target, ottla_only: None) -> None:
    before = target.broker.rss_bytes
    connections = [Wire(target.bootstrap) for _ in range(50)]
    for wire in connections:
        wire.send_bytes(struct.pack(">i", 100 * 1024 * 1024) + b"only this")
        wire.send_bytes(b" and this")
    with Wire(target.bootstrap) as wire:
        wire.ask(MetadataRequest[1](topics=[]))
    assert target.broker.rss_bytes - before < 20 * 1024 * 1024
    for wire in connections:
        wire.close()


def test_half_sent_frames_of_many_connections_hold_up_nobody(target: Target) -> None:
    frame = frame_of(MetadataRequest[1](topics=[]))
    slow = [Wire(target.bootstrap) for _ in range(200)]
    for n, wire in enumerate(slow):
        wire.send_bytes(frame[: n % len(frame)])
    with Wire(target.bootstrap) as wire:
        assert len(wire.ask(MetadataRequest[1](topics=[])).brokers) == 1
    for n, wire in enumerate(slow):
        wire.send_bytes(frame[n % len(frame) :])
        assert (
            len(MetadataResponse.decode(wire.receive_bytes(), version=1, header=True).brokers) == 1
        )
        wire.close()


def test_a_client_that_never_reads_is_not_served_without_bound(
    target: Target, ottla_only: None
) -> None:
    before = target.broker.rss_bytes
    requests = frame_of(MetadataRequest[1](topics=None)) * 2_000_000
    with Wire(target.bootstrap, timeout_s=0.5) as wire:
        with pytest.raises(TimeoutError):
            wire.send_bytes(requests)
        assert target.broker.rss_bytes - before < 50 * 1024 * 1024
