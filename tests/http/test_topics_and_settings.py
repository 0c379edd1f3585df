"""v3: clusters, brokers, topics, partitions, replicas and settings."""

import pytest

from tests.support.http_service import Rest
from tests.support.waiting import wait_for


def test_a_cluster_and_its_brokers_lead_to_everything_else(rest: Rest) -> None:
    [cluster] = rest.get("/v3/clusters")["data"]
    assert cluster["kind"] == "KafkaCluster"
    assert cluster["metadata"]["resource_name"] == f"crn:///kafka={rest.cluster_id}"
    for name in (
        "brokers",
        "broker_configs",
        "consumer_groups",
        "topics",
        "partition_reassignments",
    ):
        assert rest.http.get(cluster[name]["related"]).json()["kind"].endswith("List")
    controller = rest.http.get(cluster["controller"]["related"]).json()
    [broker] = rest.get("c/brokers")["data"]
    assert broker == controller
    assert rest.http.get(broker["configs"]["related"]).json()["kind"] == "KafkaBrokerConfigList"
    assert rest.http.get(broker["partition_replicas"]["related"]).is_success


def test_a_topic_is_made_grown_and_deleted(rest: Rest, orders: str) -> None:
    topic = rest.get(f"c/topics/{orders}")
    assert (topic["partitions_count"], topic["replication_factor"]) == (2, 1)
    partitions = rest.http.get(topic["partitions"]["related"]).json()["data"]
    assert [each["partition_id"] for each in partitions] == [0, 1]
    leader = rest.http.get(partitions[0]["leader"]["related"]).json()
    assert (leader["is_leader"], leader["is_in_sync"]) == (True, True)
    assert rest.ok("PATCH", f"c/topics/{orders}", {"partitions_count": 3})["partitions_count"] == 3
    assert rest.ask("DELETE", f"c/topics/{orders}").status_code == 204
    status, error = rest.refused("GET", f"c/topics/{orders}")
    assert (status, error["error_code"]) == (404, 40403)


def test_a_topic_can_be_tried_before_it_is_made(rest: Rest) -> None:
    wanted = {"topic_name": "never-made", "partitions_count": 3, "validate_only": True}
    found = rest.ask("POST", "c/topics", wanted)
    assert (found.status_code, found.json()["partitions_count"]) == (200, 3)
    assert "never-made" not in [each["topic_name"] for each in rest.get("c/topics")["data"]]


def test_a_topic_that_cannot_be_made_is_refused_with_kafkas_sentence(
    rest: Rest, orders: str
) -> None:
    status, error = rest.refused("POST", "c/topics", {"topic_name": orders})
    assert (status, error["error_code"]) == (400, 40002)
    assert "exists" in error["message"]
    status, error = rest.refused("POST", "c/topics", {"topic_name": "a/b"})
    assert (status, error["error_code"]) == (400, 40002)
    status, _ = rest.refused("POST", "c/topics", {"topic_name": "x", "replication_factor": 100})
    assert status == 400


def test_settings_are_read_changed_and_reset(rest: Rest, orders: str) -> None:
    path = f"c/topics/{orders}/configs"
    assert rest.ask("PUT", f"{path}/retention.ms", {"value": "3600000"}).status_code == 204
    wait_for(lambda: not rest.get(f"{path}/retention.ms")["is_default"], "the change")
    entry = rest.get(f"{path}/retention.ms")
    assert (entry["value"], entry["source"], entry["is_default"]) == (
        "3600000",
        "DYNAMIC_TOPIC_CONFIG",
        False,
    )
    assert entry["synonyms"][0]["value"] == "3600000"
    change = {
        "data": [
            {"name": "retention.ms", "operation": "DELETE"},
            {"name": "cleanup.policy", "value": "compact"},
        ]
    }
    dry = rest.ask("POST", f"c/topics/{orders}/configs:alter", {**change, "validate_only": True})
    assert dry.status_code == 204
    assert rest.get(f"{path}/retention.ms")["value"] == "3600000"
    assert rest.ask("POST", f"c/topics/{orders}/configs:alter", change).status_code == 204
    # Kafka's brokers follow their controller a moment later.
    wait_for(lambda: rest.get(f"{path}/cleanup.policy")["value"] == "compact", "the change")
    assert rest.get(f"{path}/retention.ms")["value"] == "604800000"
    assert rest.ask("DELETE", f"{path}/cleanup.policy").status_code == 204
    defaults = {
        each["name"]: each["value"]
        for each in rest.get(f"c/topics/{orders}/default-configs")["data"]
    }
    assert defaults["cleanup.policy"] == "delete"
    assert orders in {each["topic_name"] for each in rest.get("c/topics/-/configs")["data"]}


def test_a_setting_that_does_not_exist_or_cannot_be(rest: Rest, orders: str) -> None:
    assert rest.refused("GET", f"c/topics/{orders}/configs/no.such")[0] == 404
    status, error = rest.refused(
        "PUT", f"c/topics/{orders}/configs/retention.ms", {"value": "soon"}
    )
    assert (status, error["error_code"]) == (400, 40002)
    assert rest.refused("PUT", f"c/topics/{orders}/configs/retention.ms", ["no"])[0] == 422


def test_settings_of_brokers_and_of_the_cluster(rest: Rest) -> None:
    [broker] = rest.get("c/brokers")["data"]
    one = f"c/brokers/{broker['broker_id']}/configs/log.retention.ms"
    assert rest.get(one)["broker_id"] == broker["broker_id"]
    cluster = "c/broker-configs/log.retention.ms"
    assert rest.ask("PUT", cluster, {"value": "86400000"}).status_code == 204
    wait_for(lambda: rest.ask("GET", cluster).is_success, "the change")
    assert rest.get(cluster)["config_type"] == "BROKER"
    assert rest.ask("DELETE", cluster).status_code == 204
    assert rest.refused("GET", "c/brokers/77/configs/log.retention.ms")[0] == 404
    assert rest.get("c/brokers/-/configs")["kind"] == "KafkaBrokerConfigList"


def test_offsets_and_reassignments_of_a_partition(rest: Rest, orders: str) -> None:
    found = rest.get(f"c/topics/{orders}/partitions/0/offset")
    assert (found["earliest_offset"], found["latest_offset"]) == (0, 0)
    assert rest.get("c/topics/-/partitions/-/reassignment")["data"] == []
    assert rest.get(f"c/topics/{orders}/partitions/-/reassignment")["data"] == []
    assert rest.refused("GET", f"c/topics/{orders}/partitions/0/reassignment")[0] == 404


@pytest.mark.parametrize(
    "path",
    [
        "/v3/clusters/nonsense",
        "/v3/nonsense",
        "c/brokers/77",
        "c/brokers/-1",
        "c/brokers/1e9",
        "c/topics/no-such/partitions",
        "c/topics/%2e%2e",
        "c/topics/a%2Fb/configs",
        "c/consumer-groups/no-such-group",
    ],
)
def test_what_is_not_there_is_404_in_v3s_own_words(rest: Rest, path: str) -> None:
    status, error = rest.refused("GET", path)
    assert status in (400, 404)
    assert set(error) == {"error_code", "message"}


def test_a_method_that_a_path_has_not_is_405(rest: Rest) -> None:
    found = rest.ask("DELETE", "/v3/clusters")
    assert (found.status_code, found.headers["allow"]) == (405, "GET")
