"""Lines of a file go through a topic into another file, each once, by Kafka Connect's REST API."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.client.consumer import Consumer
from tests.connect.worker_process import WorkerProcess
from tests.support.clients import create_topic
from tests.support.requirements import requires
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.java, pytest.mark.slow]
MOVES_WITHIN_S = 60


@pytest.fixture(scope="module")
def worker(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    requires("java")
    made = WorkerProcess(bootstrap, tmp_path_factory.mktemp("connect"), f"c{uuid.uuid4().hex[:8]}")
    made.start()
    yield made
    if made.is_running:
        assert made.stop() == 0


@pytest.fixture
def topic(bootstrap: str) -> str:
    """A topic of one partition: its records have one order."""
    return create_topic(bootstrap, partitions=1)


def append(file: Path, *lines: str) -> None:
    with file.open("a") as open_file:
        open_file.write("".join(f"{line}\n" for line in lines))


def lines_of(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def test_lines_arrive_once_and_in_order_although_the_worker_is_killed(
    worker: WorkerProcess, topic: str
) -> None:
    given, taken = worker.directory / "in.txt", worker.directory / "out.txt"
    written = [f"line {number}" for number in range(5000)]
    append(given, *written[:1000])
    source = {"connector.class": "FileStreamSource", "file": "in.txt", "topic": topic}
    sink = {"connector.class": "FileStreamSink", "file": "out.txt", "topics": topic}
    made = worker.api("POST", "/connectors", {"name": "lines-in", "config": source})
    assert (made.status, made.body["type"], made.body["config"]["file"]) == (
        201,
        "source",
        "in.txt",
    )
    assert worker.api("POST", "/connectors", {"name": "lines-out", "config": sink}).status == 201
    wait_for(lambda: len(lines_of(taken)) >= 1000, "the first lines", MOVES_WITHIN_S)
    for begin in range(1000, 3000, 500):
        append(given, *written[begin : begin + 500])
    worker.kill()
    append(given, *written[3000:])
    worker.start()
    wait_for(lambda: len(lines_of(taken)) >= len(written), "all lines", MOVES_WITHIN_S)
    assert lines_of(taken) == written
    offsets = worker.api("GET", "/connectors/lines-in/offsets").body["offsets"]
    assert offsets == [
        {"partition": {"filename": "in.txt"}, "offset": {"position": given.stat().st_size}}
    ]
    assert worker.api("GET", "/connectors/lines-out/topics").body == {
        "lines-out": {"topics": [topic]}
    }


def test_a_connector_is_stopped_sent_back_and_goes_on(worker: WorkerProcess, topic: str) -> None:
    given, taken = worker.directory / "a.txt", worker.directory / "b.txt"
    append(given, "one", "two")
    config = {"connector.class": "file-source", "file": "a.txt", "topic": topic}
    assert worker.api("PUT", "/connectors/back/config", config).status == 201
    sink = {"connector.class": "file-sink", "file": "b.txt", "topics": topic}
    assert worker.api("PUT", "/connectors/forth/config", sink).status == 201
    wait_for(lambda: lines_of(taken) == ["one", "two"], "both lines", MOVES_WITHIN_S)
    refused = worker.api("PATCH", "/connectors/back/offsets", {"offsets": [{"partition": {}}]})
    assert (refused.status, "STOPPED" in refused.body["message"]) == (400, True)
    assert worker.api("PUT", "/connectors/back/stop").status == 204
    worker.wait_for_state("back", "STOPPED")
    change = {"offsets": [{"partition": {"filename": "a.txt"}, "offset": {"position": 4}}]}
    assert worker.api("PATCH", "/connectors/back/offsets", change).status == 200
    assert worker.api("PUT", "/connectors/back/resume").status == 202
    wait_for(lambda: lines_of(taken) == ["one", "two", "two"], "the line again", MOVES_WITHIN_S)
    assert worker.api("DELETE", "/connectors/back").status == 204
    assert worker.api("DELETE", "/connectors/forth").status == 204
    assert worker.api("GET", "/connectors/back").status == 404


def test_a_record_that_cannot_be_read_goes_to_the_dead_letter_topic(
    worker: WorkerProcess, bootstrap: str, topic: str
) -> None:
    given, taken = worker.directory / "p.txt", worker.directory / "q.txt"
    append(given, '{"a": 1}', "no json", '{"a": 2}')
    source = {"connector.class": "file-source", "file": "p.txt", "topic": topic}
    sink = {
        "connector.class": "file-sink",
        "file": "q.txt",
        "topics": topic,
        "value.converter": "json",
        "value.converter.schemas.enable": "false",
        "transforms": "field",
        "transforms.field.type": "ExtractField$Value",
        "transforms.field.field": "a",
    }
    worker.api("POST", "/connectors", {"name": "poison-in", "config": source})
    worker.api("POST", "/connectors", {"name": "poison-out", "config": sink})
    failed = worker.wait_for_state("poison-out", "FAILED")
    assert f"{topic}-0 offset 1 cannot be converted" in failed["tasks"][0]["trace"]
    tolerant = {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": f"{topic}-dead",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    assert worker.api("PATCH", "/connectors/poison-out/config", tolerant).status == 200
    wait_for(lambda: lines_of(taken) == ["1", "2"], "the readable records", MOVES_WITHIN_S)
    with Consumer(
        {"bootstrap.servers": bootstrap}, group_id=f"{topic}-reader", auto_offset_reset="earliest"
    ) as consumer:
        consumer.subscribe([f"{topic}-dead"])
        [letter] = wait_for(lambda: consumer.poll(1.0), "the dead letter", 30)
    headers = {name: value.decode() for name, value in letter.headers if value is not None}
    assert letter.value == b"no json"
    assert headers["__connect.errors.topic"] == topic
    assert headers["__connect.errors.offset"] == "1"
    assert headers["__connect.errors.connector.name"] == "poison-out"


def test_what_is_wrong_is_said_by_setting(worker: WorkerProcess) -> None:
    answer = worker.api(
        "PUT",
        "/connector-plugins/FileStreamSink/config/validate",
        {"connector.class": "FileStreamSink", "tasks.max": "none", "file": "../etc/passwd"},
    )
    errors = {
        each["value"]["name"]: each["value"]["errors"]
        for each in answer.body["configs"]
        if each["value"]["errors"]
    }
    assert (answer.status, answer.body["error_count"]) == (200, len(errors))
    assert errors["tasks.max"] == [
        "Invalid value none for configuration tasks.max: Not a number of type INT"
    ]
    assert set(errors) == {"name", "tasks.max", "topics"}
    refused = worker.api(
        "POST", "/connectors", {"name": "x", "config": {"connector.class": "os.system"}}
    )
    assert refused.status == 400
    assert "Failed to find any class that implements Connector" in refused.body["message"]


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", "/connectors/none", 404, "Connector none not found"),
        ("GET", "/connectors/none/status", 404, "No status found for connector none"),
        ("PUT", "/connectors/none/pause", 404, "Connector none not found"),
        ("GET", "/nothing/here", 404, "HTTP 404 Not Found"),
        ("DELETE", "/connectors", 405, "HTTP 405 Method Not Allowed"),
    ],
)
def test_errors_are_those_of_kafka_connect(
    worker: WorkerProcess, method: str, path: str, status: int, message: str
) -> None:
    answer = worker.api(method, path)
    assert answer == (status, {"error_code": status, "message": message})
