"""Records over REST: written with v3, read by partition, offset, time, key and filter, in every format."""

import base64
import csv
import io
import json
import threading
from collections.abc import Iterator
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from tests.support.http_service import Rest

HOSTILE = [
    b"<script>alert(1)</script>",
    b"\x00\x01\xff\xfe",
    "\u202e\u0000 snow \u2603".encode(),
    b"=cmd|'/c calc'!A1",
    b'","\n"quoted"\r\n',
    b"",
]


def text(value: Any) -> dict[str, Any]:
    return {"type": "JSON", "data": value}


def binary(value: bytes) -> dict[str, Any]:
    return {"type": "BINARY", "data": base64.b64encode(value).decode()}


def write(rest: Rest, topic: str, *records: dict[str, Any]) -> list[dict[str, Any]]:
    body = "\n".join(map(json.dumps, records))
    headers = {"content-type": "application/json"}
    found = rest.ask("POST", f"c/topics/{topic}/records", content=body, headers=headers)
    assert found.status_code == 200
    return [json.loads(line) for line in found.text.splitlines()]


def test_a_stream_of_records_is_reported_in_order(rest: Rest, orders: str) -> None:
    header = {"name": "source", "value": base64.b64encode(b"web").decode()}
    reports = write(
        rest,
        orders,
        {"partition_id": 1, "value": text({"a": 1}), "headers": [header]},
        {
            "partition_id": 1,
            "key": {"type": "STRING", "data": "k"},
            "timestamp": "2026-01-31T12:00:00Z",
        },
        {"partition_id": 9, "value": text(1)},
        {"value": {"type": "AVRO", "data": 1}},
        {"value": {"type": "BINARY", "data": "no base64!"}},
        {"partition_id": 1, "value": binary(b"last")},
    )
    assert [each["error_code"] for each in reports][:2] == [200, 200]
    assert (reports[0]["partition_id"], reports[0]["offset"]) == (1, 0)
    assert reports[0]["value"] == {"type": "JSON", "size": 7}
    assert reports[1]["timestamp"] == "2026-01-31T12:00:00.000Z"
    assert [each["error_code"] for each in reports][3:] == [415, 422, 200]
    assert reports[2]["error_code"] >= 400
    assert reports[5]["offset"] == 2
    found = rest.get(f"c/topics/{orders}/records")["data"]
    assert [each["value"] for each in found] == ['{"a":1}', None, "last"]
    assert found[0]["headers"] == [{"name": "source", "value": "web"}]
    assert found[1]["timestamp"] == 1_769_860_800_000


def test_records_without_white_space_between_and_one_that_is_cut_off(
    rest: Rest, orders: str
) -> None:
    body = '{"value":{"type":"JSON","data":1}}{"value":{"type":"JSON","data":2}}{"value":'
    found = rest.ask("POST", f"c/topics/{orders}/records", content=body)
    reports = [json.loads(line) for line in found.text.splitlines()]
    assert [each["error_code"] for each in reports] == [200, 200, 400]


def test_reports_come_while_the_body_is_still_being_sent(rest: Rest, orders: str) -> None:
    first_report = threading.Event()

    def body() -> Iterator[bytes]:
        yield b'{"value":{"type":"JSON","data":1}}'
        assert first_report.wait(20), "nothing was reported before the end of the body"
        yield b'{"value":{"type":"JSON","data":2}}'

    import socket

    host, port = rest.service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 20) as link:
        path = rest.path(f"c/topics/{orders}/records")
        link.sendall(
            f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\ncontent-type: application/json\r\n"
            "transfer-encoding: chunked\r\nconnection: close\r\n\r\n".encode()
        )
        received = b""
        for data in body():
            link.sendall(b"%x\r\n%s\r\n" % (len(data), data))
            while received.count(b'"offset"') < 1:
                received += link.recv(65536)
            first_report.set()
        link.sendall(b"0\r\n\r\n")
        while more := link.recv(65536):
            received += more
    assert received.count(b'"error_code":200') == 2


def test_a_batch_has_one_report(rest: Rest, orders: str) -> None:
    entries = [
        {"id": "1", "value": text("a")},
        {"id": "2", "value": {"type": "PROTOBUF", "data": 1}},
        {"id": "3", "partition_id": 0, "key": binary(b"k"), "value": text(None)},
    ]
    found = rest.ask("POST", f"c/topics/{orders}/records:batch", {"entries": entries})
    assert found.status_code == 207
    assert [each["id"] for each in found.json()["successes"]] == ["1", "3"]
    assert [(e["id"], e["error_code"]) for e in found.json()["failures"]] == [("2", 415)]
    status, error = rest.refused("POST", f"c/topics/{orders}/records:batch", {"entries": []})
    assert (status, error["error_code"]) == (422, 42206)


@pytest.fixture
def filled(rest: Rest, orders: str) -> str:
    """A topic with ten records in each of two partitions."""
    records = [
        {
            "partition_id": n % 2,
            "key": {"type": "STRING", "data": f"k{n % 4}"},
            "value": text({"n": n}),
        }
        for n in range(20)
    ]
    reports = write(rest, orders, *records)
    assert {each["error_code"] for each in reports} == {200}, reports
    return orders


def numbers(records: list[dict[str, Any]]) -> list[int]:
    return sorted(json.loads(each["value"])["n"] for each in records)


def test_pages_follow_a_cursor_to_the_end(rest: Rest, filled: str) -> None:
    path: str | None = rest.path(f"c/topics/{filled}/records?limit=7")
    found, pages = [], 0
    while path is not None:
        page = rest.http.get(path).json()
        found += page["data"]
        pages += 1
        path = page["metadata"]["next"]
    assert numbers(found) == list(range(20))
    assert (pages, page["end"]) == (3, True)
    again = rest.get(f"c/topics/{filled}/records", cursor=page["cursor"])
    assert again["data"] == []


def test_where_reading_begins(rest: Rest, filled: str) -> None:
    path = f"c/topics/{filled}/records"
    assert numbers(rest.get(path, partition="1", offset=8)["data"]) == [17, 19]
    assert numbers(rest.get(path, offset=-1)["data"]) == [18, 19]
    assert numbers(rest.get(path, timestamp="1h")["data"]) == list(range(20))
    assert rest.get(path, timestamp="2099-01-01")["data"] == []
    assert rest.get(path, until="2020-01-01T00:00:00")["data"] == []
    assert numbers(rest.get(path, key="k3")["data"]) == [3, 7, 11, 15, 19]
    assert numbers(rest.get(path, filter="value.n >= 15 and key = 'k3'")["data"]) == [15, 19]
    assert numbers(rest.get(path, filter="""value matches '"n":1[0-9]'""", key="k0")["data"]) == [
        12,
        16,
    ]


def test_a_filter_that_is_not_understood_is_pointed_at(rest: Rest, filled: str) -> None:
    status, problem = rest.refused(
        "GET", f"c/topics/{filled}/records", params={"filter": "value.n >"}
    )
    assert (status, problem["column"]) == (422, 9)
    assert problem["detail"].startswith("filter, column 10")


def test_an_expression_that_backtracks_for_ever_holds_nobody_up(rest: Rest, orders: str) -> None:
    write(rest, orders, {"value": text("a" * 60)})
    status, problem = rest.refused(
        "GET", f"c/topics/{orders}/records", params={"filter": "value matches '(a+)+$x'"}
    )
    assert status == 422
    assert "simplify" in problem["detail"]


def test_reading_stops_at_offsets_that_are_not_there(rest: Rest, filled: str) -> None:
    status, problem = rest.refused("GET", f"c/topics/{filled}/records", params={"offset": 11})
    assert status == 416
    assert "0: 0 to 10" in problem["detail"]
    for query in ({"cursor": "%%%"}, {"cursor": "e30"}, {"offset": "x"}, {"timestamp": "teatime"},
                  {"offset": 1, "timestamp": "1h"}, {"format": "exe"}, {"limit": -1}):  # fmt: skip
        assert rest.refused("GET", f"c/topics/{filled}/records", params=query)[0] == 400, query
    assert rest.refused("GET", f"c/topics/{filled}/records", params={"partition": "7"})[0] == 404
    assert rest.refused("GET", f"c/topics/{filled}/records", params={"limit": 1_000_000})[0] == 422


def test_every_format_holds_the_same_bytes(rest: Rest, orders: str) -> None:
    write(rest, orders, *({"partition_id": 0, "value": binary(each)} for each in HOSTILE))
    path = rest.path(f"c/topics/{orders}/records")

    def fetch(form: str) -> bytes:
        found = rest.http.get(path, params={"format": form})
        assert found.status_code == 200
        assert found.headers["x-content-type-options"] == "nosniff"
        return found.content

    lines = [json.loads(line) for line in fetch("ndjson").splitlines()]
    found = [
        base64.b64decode(each["value_base64"]) if "value_base64" in each else each["value"].encode()
        for each in lines
    ]
    assert found == HOSTILE
    rows = list(csv.DictReader(io.StringIO(fetch("csv").decode(), newline="")))
    found = [
        base64.b64decode(each["value_base64"]) if each["value_base64"] else each["value"].encode()
        for each in rows
    ]
    assert found == HOSTILE
    with pyarrow.ipc.open_stream(fetch("arrow")) as reader:
        assert reader.read_all()["value"].to_pylist() == HOSTILE
    table = pyarrow.parquet.read_table(io.BytesIO(fetch("parquet")))
    assert table["value"].to_pylist() == HOSTILE
    assert rest.http.get(path, headers={"accept": "application/x-ndjson"}).content == fetch(
        "ndjson"
    )


def test_a_live_stream_tells_what_is_written_and_can_be_resumed(rest: Rest, filled: str) -> None:
    path = rest.path(f"c/topics/{filled}/records")

    def events(headers: dict[str, str], then: Any) -> Iterator[tuple[str | None, int]]:
        with rest.http.stream("GET", path, params={"format": "sse"}, headers=headers) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            cursor: str | None = None
            for line in stream.iter_lines():
                if line.startswith("retry"):
                    then()
                elif line.startswith("id: "):
                    cursor = line[4:]
                elif line.startswith("data: "):
                    yield cursor, json.loads(json.loads(line[6:])["value"])["n"]

    cursor, number = next(events({}, lambda: write(rest, filled, {"value": text({"n": 100})})))
    assert number == 100
    assert cursor is not None
    write(rest, filled, {"value": text({"n": 101})})
    _, number = next(events({"last-event-id": cursor}, lambda: None))
    assert number == 101


def test_records_are_deleted(rest: Rest, filled: str) -> None:
    wanted = {"partitions": [{"partition_id": 0, "before_offset": 4}, {"partition_id": 1}]}
    found = rest.ok("POST", f"c/topics/{filled}/records:delete", wanted)["data"]
    assert [each["log_start_offset"] for each in found] == [4, 10]
    assert len(rest.get(f"c/topics/{filled}/records")["data"]) == 6
    far = {"partitions": [{"partition_id": 0, "before_offset": 99}]}
    status, problem = rest.refused("POST", f"c/topics/{filled}/records:delete", far)
    assert (status, problem["kafka_error"]) == (400, "OFFSET_OUT_OF_RANGE")
