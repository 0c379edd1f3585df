"""REST Proxy v2: what its clients do, as its documentation shows it."""

import base64
from typing import Any
from uuid import uuid4

import pytest

from tests.support.http_service import HttpService, Rest
from tests.support.waiting import wait_for

V2 = "application/vnd.kafka.v2+json"
JSON = "application/vnd.kafka.json.v2+json"
BINARY = "application/vnd.kafka.binary.v2+json"


def post(rest: Rest, path: str, body: Any, content_type: str = V2) -> Any:
    return rest.ok("POST", path, body, headers={"content-type": content_type})


def produce(rest: Rest, topic: str, *values: Any) -> None:
    found = post(rest, f"/topics/{topic}", {"records": [{"value": each} for each in values]}, JSON)
    assert all(each["error_code"] is None for each in found["offsets"])


def test_topics_partitions_and_brokers(rest: Rest, orders: str) -> None:
    assert orders in rest.get("/topics")
    topic = rest.get(f"/topics/{orders}")
    assert (topic["name"], len(topic["partitions"])) == (orders, 2)
    assert topic["configs"]["cleanup.policy"] == "delete"
    replica = topic["partitions"][0]["replicas"][0]
    assert (replica["leader"], replica["in_sync"]) == (True, True)
    assert rest.get(f"/topics/{orders}/partitions/1")["partition"] == 1
    assert rest.get("/brokers")["brokers"] == [replica["broker"]]
    found = rest.ask("GET", "/topics/no-such-topic")
    assert (found.status_code, found.headers["content-type"]) == (404, V2)
    assert found.json()["error_code"] == 40403
    assert rest.refused("GET", f"/topics/{orders}/partitions/9")[1]["error_code"] == 40402


def test_records_are_written_as_json_and_as_bytes(rest: Rest, orders: str) -> None:
    records = [{"key": "k", "value": {"a": 1}, "partition": 1}, {"value": None, "partition": 1}]
    found = post(rest, f"/topics/{orders}", {"records": records}, JSON)
    assert found == {
        "offsets": [
            {"partition": 1, "offset": 0, "error_code": None, "error": None},
            {"partition": 1, "offset": 1, "error_code": None, "error": None},
        ],
        "key_schema_id": None,
        "value_schema_id": None,
    }
    value = base64.b64encode(b"\xff\x00").decode()
    post(rest, f"/topics/{orders}/partitions/1", {"records": [{"value": value}]}, BINARY)
    assert rest.get(f"/topics/{orders}/partitions/1/offsets") == {
        "beginning_offset": 0,
        "end_offset": 3,
    }
    headers = {"content-type": "application/vnd.kafka.avro.v2+json"}
    assert rest.refused("POST", f"/topics/{orders}", {"records": []}, headers=headers)[0] == 415
    headers = {"content-type": BINARY}
    assert (
        rest.refused("POST", f"/topics/{orders}", {"records": [{"value": 1}]}, headers=headers)[0]
        == 422
    )
    assert rest.refused("POST", f"/topics/{orders}", {"records": []}, headers=headers)[0] == 422


@pytest.fixture
def instance(rest: Rest) -> str:
    """The address of a consumer instance that reads JSON from the beginning."""
    wanted = {"format": "json", "auto.offset.reset": "earliest", "auto.commit.enable": "false"}
    found = post(rest, f"/consumers/group-{uuid4().hex[:8]}", wanted)
    assert found["base_uri"].endswith(f"/instances/{found['instance_id']}")
    return str(found["base_uri"])


def read(rest: Rest, instance: str, count: int, **query: Any) -> list[Any]:
    found: list[Any] = []
    for _ in range(50):
        answer = rest.http.get(f"{instance}/records", headers={"accept": JSON}, params=query)
        assert (answer.status_code, answer.headers["content-type"]) == (200, JSON), answer.text
        found += answer.json()
        if len(found) >= count:
            return found
    raise AssertionError(f"{len(found)} records of {count}")


def test_a_subscription_reads_commits_and_ends(rest: Rest, orders: str, instance: str) -> None:
    produce(rest, orders, {"n": 1}, {"n": 2}, {"n": 3})
    assert rest.http.post(f"{instance}/subscription", json={"topics": [orders]}).status_code == 204
    assert rest.http.get(f"{instance}/subscription").json() == {"topics": [orders]}
    found = read(rest, instance, 3)
    assert sorted(each["value"]["n"] for each in found) == [1, 2, 3]
    assert set(found[0]) == {"topic", "key", "value", "partition", "offset"}
    last = max(found, key=lambda each: (each["partition"], each["offset"]))
    offsets = [{"topic": orders, "partition": last["partition"], "offset": last["offset"]}]
    assert rest.http.post(f"{instance}/offsets", json={"offsets": offsets}).is_success
    places = {"partitions": [{"topic": orders, "partition": last["partition"]}]}
    committed = rest.http.request("GET", f"{instance}/offsets", json=places).json()["offsets"]
    assert [each["offset"] for each in committed] == [last["offset"] + 1]
    assert rest.http.post(f"{instance}/offsets").is_success
    assert rest.http.delete(f"{instance}/subscription").status_code == 204
    assert rest.http.delete(instance).status_code == 204
    status, error = rest.refused("GET", f"{instance}/records")
    assert (status, error) == (
        404,
        {"error_code": 40403, "message": "Consumer instance not found."},
    )


def test_an_assignment_can_be_moved_about(rest: Rest, orders: str, instance: str) -> None:
    for n in range(4):
        post(rest, f"/topics/{orders}/partitions/0", {"records": [{"value": n}]}, JSON)
    place = {"topic": orders, "partition": 0}
    assert (
        rest.http.post(f"{instance}/assignments", json={"partitions": [place]}).status_code == 204
    )
    assert rest.http.get(f"{instance}/assignments").json() == {"partitions": [place]}
    assert [each["value"] for each in read(rest, instance, 4)] == [0, 1, 2, 3]
    seek = {"offsets": [{**place, "offset": 2}]}
    assert rest.http.post(f"{instance}/positions", json=seek).status_code == 204
    assert [each["value"] for each in read(rest, instance, 2)] == [2, 3]
    assert rest.http.post(
        f"{instance}/positions/beginning", json={"partitions": [place]}
    ).is_success
    assert [each["value"] for each in read(rest, instance, 1, max_bytes=1)] == [0]
    assert [each["value"] for each in read(rest, instance, 3)] == [1, 2, 3]
    assert rest.http.post(f"{instance}/positions/end", json={"partitions": [place]}).is_success
    assert rest.http.get(f"{instance}/records", params={"timeout": 100}).json() == []
    other = {"offsets": [{"topic": orders, "partition": 1, "offset": 0}]}
    status, error = rest.refused("POST", f"{instance}/positions", other)
    assert (status, error["error_code"]) == (409, 40903)
    status, error = rest.refused("POST", f"{instance}/subscription", {"topics": [orders]})
    assert (status, error["error_code"]) == (409, 40903)
    rest.http.delete(instance)


def test_a_record_that_is_no_json_is_named_and_can_be_passed(
    rest: Rest, orders: str, instance: str
) -> None:
    value = base64.b64encode(b"{oops").decode()
    post(rest, f"/topics/{orders}/partitions/0", {"records": [{"value": value}]}, BINARY)
    place = {"topic": orders, "partition": 0}
    rest.http.post(f"{instance}/assignments", json={"partitions": [place]})
    status, error = rest.refused("GET", f"{instance}/records", headers={"accept": JSON})
    assert (status, error["error_code"]) == (422, 42203)
    assert f"{orders}-0 at offset 0" in error["message"]
    rest.http.post(f"{instance}/positions", json={"offsets": [{**place, "offset": 1}]})
    assert rest.http.get(f"{instance}/records", params={"timeout": 50}).json() == []
    rest.http.delete(instance)


def test_instances_that_cannot_be(rest: Rest) -> None:
    group = f"/consumers/group-{uuid4().hex[:8]}"
    made = post(rest, group, {"name": "one"})
    status, error = rest.refused("POST", group, {"name": "one"})
    assert (status, error["error_code"]) == (409, 40902)
    assert rest.refused("POST", group, {"format": "avro"})[0] == 422
    assert rest.refused("POST", group, {"format": "xml"})[0] == 422
    status, error = rest.refused("POST", group, {"auto.offset.reset": "sideways"})
    assert (status, error["error_code"]) == (422, 42204)
    status, error = rest.refused("GET", f"{group}/instances/one/records", headers={"accept": JSON})
    assert (status, error["error_code"]) == (406, 40601)
    assert (
        rest.refused("POST", f"{group}/instances/one/subscription", {"topic_pattern": "(a+)+"})[0]
        == 422
    )
    assert rest.refused("POST", f"{group}/instances/one/subscription", {})[0] == 409
    assert rest.http.delete(made["base_uri"]).status_code == 204


def test_an_instance_that_nobody_uses_expires(
    bootstrap: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = {"ottla.http.consumer.instance.timeout.ms": "1000", "ottla.http.max.consumers": "1"}
    with HttpService(bootstrap, tmp_path_factory.mktemp("expiring"), settings) as service:
        rest = Rest(service)
        made = post(rest, "/consumers/short", {})
        assert rest.refused("POST", "/consumers/short", {})[0] == 429
        wait_for(
            lambda: rest.ask("POST", "/consumers/short", {}).is_success, "room for an instance"
        )
        assert rest.refused("GET", f"{made['base_uri']}/records")[1]["error_code"] == 40403
        rest.close()
