"""Groups over REST: members and lag, offsets moved with a preview, and taken back."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

import ottla
from tests.http.test_records import text, write
from tests.support.http_service import Rest


@pytest.fixture
def billing(rest: Rest, bootstrap: str, orders: str) -> str:
    """A group that has read 6 of 10 records, and left."""
    write(rest, orders, *({"partition_id": n % 2, "value": text(n)} for n in range(10)))
    group = f"billing-{uuid4().hex[:8]}"
    with ottla.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    ) as consumer:
        consumer.subscribe([orders])
        found: list[Any] = []
        while len(found) < 10:
            found += consumer.poll(1.0)
        consumer.commit({ottla.TopicPartition(orders, 0): 3, ottla.TopicPartition(orders, 1): 3})
        for partition in (0, 1):
            consumer.seek(ottla.TopicPartition(orders, partition), 3)
    return group


@pytest.fixture
def reader(bootstrap: str, orders: str) -> Iterator[tuple[str, ottla.Consumer]]:
    """A member of a group that is there."""
    group = f"live-{uuid4().hex[:8]}"
    with ottla.Consumer({"bootstrap.servers": bootstrap, "group.id": group}) as consumer:
        consumer.subscribe([orders])
        while not consumer.assignment():
            consumer.poll(0.1)
        consumer.commit({ottla.TopicPartition(orders, 0): 0})
        yield group, consumer


def test_a_group_with_its_members_and_what_they_read(
    rest: Rest, orders: str, reader: tuple[str, ottla.Consumer]
) -> None:
    group, _ = reader
    found = rest.get(f"c/consumer-groups/{group}")
    assert (found["state"], found["is_simple"]) == ("STABLE", False)
    assert rest.http.get(found["coordinator"]["related"]).is_success
    [member] = rest.http.get(found["consumers"]["related"]).json()["data"]
    assert rest.get(f"c/consumer-groups/{group}/consumers/{member['consumer_id']}") == member
    read = rest.http.get(member["assignments"]["related"]).json()["data"]
    assert [(each["topic_name"], each["partition_id"]) for each in read] == [
        (orders, 0),
        (orders, 1),
    ]
    assert rest.http.get(read[0]["metadata"]["self"]).json() == read[0]
    assert rest.http.get(read[0]["lag"]["related"]).json()["lag"] == 0
    names = [each["consumer_group_id"] for each in rest.get("c/consumer-groups")["data"]]
    assert group in names


def test_lag_by_partition_and_in_all(rest: Rest, orders: str, billing: str) -> None:
    lags = rest.get(f"c/consumer-groups/{billing}/lags")["data"]
    assert [(each["current_offset"], each["log_end_offset"], each["lag"]) for each in lags] == [
        (3, 5, 2),
        (3, 5, 2),
    ]
    one = rest.get(f"c/consumer-groups/{billing}/lags/{orders}/partitions/1")
    assert one == lags[1]
    summary = rest.get(f"c/consumer-groups/{billing}/lag-summary")
    assert (summary["total_lag"], summary["max_lag"], summary["max_lag_topic_name"]) == (
        4,
        2,
        orders,
    )


def offsets(rest: Rest, group: str) -> list[int]:
    found = rest.get(f"c/consumer-groups/{group}/offsets")["data"]
    return [each["current_offset"] for each in found]


def test_offsets_are_moved_after_a_preview_and_back_again(
    rest: Rest, orders: str, billing: str, ottla_only: None
) -> None:
    path = f"c/consumer-groups/{billing}/offsets"
    preview = rest.ok("POST", f"{path}:reset", {"all_topics": True, "to_earliest": True})
    assert (preview["dry_run"], preview["changed"]) == (True, 2)
    assert [(each["before"], each["after"]) for each in preview["moves"]] == [(3, 0), (3, 0)]
    assert offsets(rest, billing) == [3, 3]
    rest.ok("POST", f"{path}:reset", {"all_topics": True, "to_earliest": True, "dry_run": False})
    assert offsets(rest, billing) == [0, 0]
    exact = [{"topic_name": orders, "partition_id": 1, "offset": 2}]
    rest.ok("POST", f"{path}:reset", {"offsets": exact, "dry_run": False})
    assert offsets(rest, billing) == [0, 2]
    assert rest.ok("POST", f"{path}:undo", {"dry_run": False})["changed"] == 1
    assert offsets(rest, billing) == [0, 0]
    scope = {"topics": [{"topic_name": orders, "partition_ids": [0]}]}
    rest.ok("POST", f"{path}:reset", {**scope, "shift_by": 4, "dry_run": False})
    assert offsets(rest, billing) == [4, 0]
    history = rest.get(f"c/consumer-groups/{billing}/history")["data"]
    assert any(each["who"].startswith("ottla-groups-rest-undo") for each in history)
    assert rest.ask("DELETE", f"c/consumer-groups/{billing}").status_code == 204


def test_offsets_of_a_group_that_reads_are_not_moved(
    rest: Rest, reader: tuple[str, ottla.Consumer]
) -> None:
    group, _ = reader
    wanted = {"all_topics": True, "to_latest": True, "dry_run": False}
    status, problem = rest.refused("POST", f"c/consumer-groups/{group}/offsets:reset", wanted)
    assert status == 409
    assert "has 1 member" in problem["detail"]
    status, problem = rest.refused("DELETE", f"c/consumer-groups/{group}")
    assert (status, problem["kafka_error"]) == (409, "NON_EMPTY_GROUP")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"all_topics": True}, 422),
        ({"to_earliest": True}, 422),
        ({"all_topics": True, "to_earliest": True, "to_latest": True}, 422),
        ({"topics": [{"topic_name": "no-such-topic"}], "to_earliest": True}, 404),
        ({"all_topics": True, "to_time": "teatime"}, 400),
        ({"all_topics": True, "to_offset": -1}, 422),
        ({"all_topics": True, "shift_by": 2**70}, 422),
        ([], 422),
    ],
)
def test_a_reset_that_says_too_little_or_too_much(
    rest: Rest, billing: str, body: Any, status: int
) -> None:
    found, problem = rest.refused("POST", f"c/consumer-groups/{billing}/offsets:reset", body)
    assert (found, problem["status"]) == (status, status), json.dumps(problem)


def test_a_group_whose_name_has_a_slash(rest: Rest, bootstrap: str, orders: str) -> None:
    with ottla.Admin({"bootstrap.servers": bootstrap}) as admin:
        from ottla.client.administration.group_offsets import CommittedOffset

        at = ottla.TopicPartition(orders, 0)
        admin.alter_group_offsets("team/a b?c", {at: CommittedOffset(0)})
    found = rest.get("c/consumer-groups/team%2Fa%20b%3Fc")
    assert found["consumer_group_id"] == "team/a b?c"
    assert rest.http.get(found["metadata"]["self"]).json() == found
    assert rest.http.get(found["lag_summary"]["related"]).json()["total_lag"] == 0
