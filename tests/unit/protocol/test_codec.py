"""Whole frames, and what is answered to those that are no frames."""

from __future__ import annotations

import struct
import subprocess
import sys

import pytest

from ottla.base.errors import ProtocolError
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.api_versions import ApiVersion, ApiVersionsResponse
from ottla.protocol.apis.create_topics import CreatableTopic, CreateTopicsRequest
from ottla.protocol.apis.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from ottla.protocol.apis.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from ottla.protocol.codec import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    request_class,
)
from ottla.protocol.header import parse_request_header


@pytest.mark.parametrize("version", range(14))
def test_a_request_crosses_the_wire(version: int) -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="orders")])
    frame = encode_request(request, version, 7, "me")
    assert struct.unpack_from(">i", frame)[0] == len(frame) - 4
    header = parse_request_header(frame, 4, len(frame))
    assert decode_request(3, version, frame, header.body_pos, len(frame)) == request


@pytest.mark.parametrize("version", range(5))
def test_a_response_crosses_the_wire(version: int) -> None:
    response = ApiVersionsResponse(api_keys=[ApiVersion(api_key=3, max_version=12)])
    frame = encode_response(response, version, 7)
    assert decode_response(18, version, frame[4:]) == (7, response)


def test_a_request_is_read_from_the_middle_of_a_larger_buffer() -> None:
    frame = encode_request(MetadataRequest(topics=None), 12, 7, None)
    buf = memoryview(b"before" + bytes(frame) + b"behind")
    end = 6 + len(frame)
    header = parse_request_header(buf, 10, end)
    assert decode_request(3, 12, buf, header.body_pos, end).topics is None


def test_records_are_views_into_the_buffer_and_all_else_is_not() -> None:
    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(records=b"batch")])
    frame = encode_request(ProduceRequest(topic_data=[data]), 9, 7, None)
    header = parse_request_header(frame, 4, len(frame))
    request = decode_request(0, 9, frame, header.body_pos, len(frame))
    records = request.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    records[:] = b"BATCH"
    assert b"BATCH" in frame


def test_bytes_behind_a_request_are_ignored_as_in_kafka() -> None:
    frame = encode_request(MetadataRequest(topics=[]), 1, 7, None) + b"more"
    header = parse_request_header(frame, 4, len(frame))
    assert decode_request(3, 1, frame, header.body_pos, len(frame)).topics == []


def test_a_field_that_a_version_lacks_is_not_written() -> None:
    plain = encode_response(MetadataResponse(), 0, 7)
    assert encode_response(MetadataResponse(cluster_id="c", throttle_time_ms=9), 0, 7) == plain


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (CreateTopicsRequest(timeout_ms=2**31), "CreateTopicsRequest v5"),
        (CreateTopicsRequest(topics=[CreatableTopic(name=None)]), "encode"),  # type: ignore[arg-type]
        (CreateTopicsRequest(topics=[CreatableTopic(name="x" * 32768)]), "longer than 32767"),
    ],
)
def test_what_cannot_be_written_says_why(request_: CreateTopicsRequest, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        encode_request(request_, 5, 7, None)


@pytest.mark.parametrize(
    ("key", "version", "why"),
    [(4711, 0, "key 4711"), (3, 99, "version 99 of Metadata"), (0, 2, "version 2 of Produce")],
)
def test_an_api_or_version_that_does_not_exist_is_refused(key: int, version: int, why: str) -> None:
    with pytest.raises(ProtocolError, match=why):
        decode_request(key, version, b"", 0, 0)


def test_an_api_costs_nothing_until_it_is_met() -> None:
    code = (
        "import sys, ottla.protocol.codec\n"
        "print([name for name in sys.modules if name.startswith('ottla.protocol.apis.')])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
    assert request_class(ApiKey.METADATA) is MetadataRequest
