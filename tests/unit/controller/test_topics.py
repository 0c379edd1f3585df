"""What is decided about topics to be made, deleted and grown."""

import json
import uuid
from collections.abc import Sequence

import pytest

from ottla.base.errors import ApiError
from ottla.base.ids import ZERO_ID
from ottla.cluster.tree import Create, Delete, Set
from ottla.controller.requests import (
    Decision,
    ManualReplicas,
    NewPartitions,
    NewTopic,
    TopicRef,
    TopicResult,
)
from ottla.controller.topics import (
    Circumstances,
    decide_create,
    decide_delete,
    decide_partitions,
)
from ottla.protocol.errors import ErrorCode

from .clusters import cluster, id_of, ids, now


def create(*topics: NewTopic, on: Circumstances | None = None) -> Decision[TopicResult]:
    """Decides on new topics."""
    return decide_create(now() if on is None else on, topics, ids(), 0)


def errors(decision: Decision[TopicResult]) -> list[ErrorCode]:
    """The errors of a decision."""
    return [result.error for result in decision.results]


def test_a_new_topic_has_an_id_settings_and_led_partitions() -> None:
    decision = create(NewTopic("a", 2, 2, configs={"retention.ms": "1000"}))
    assert decision.results == [
        TopicResult(
            "a",
            topic_id=id_of(0),
            partitions=2,
            replication_factor=2,
            configs={"retention.ms": "1000"},
        )
    ]
    assert all(isinstance(op, Create) for op in decision.ops)
    data = {op.path: json.loads(op.data or b"{}") for op in decision.ops if isinstance(op, Create)}
    assert sorted(data) == [
        "/brokers/topics/a",
        "/brokers/topics/a/partitions",
        "/brokers/topics/a/partitions/0",
        "/brokers/topics/a/partitions/0/state",
        "/brokers/topics/a/partitions/1",
        "/brokers/topics/a/partitions/1/state",
        "/config/topics/a",
    ]
    replicas = data["/brokers/topics/a"]["partitions"]["1"]
    state = data["/brokers/topics/a/partitions/1/state"]
    assert (state["leader"], state["isr"]) == (replicas[0], replicas)
    assert (state["leader_epoch"], state["controller_epoch"]) == (0, 5)


def test_without_racks_the_replicas_of_a_partition_keep_to_different_hosts() -> None:
    image = cluster(brokers=4)
    hosts = {1: "east", 2: "east", 3: "west", 4: "west"}
    image = image._replace(
        brokers={each: image.brokers[each]._replace(machine=host) for each, host in hosts.items()}
    )
    ops = create(NewTopic("a", 8, 2), on=now(image)).ops
    [made] = [op for op in ops if isinstance(op, Create) and op.path == "/brokers/topics/a"]
    placed = json.loads(made.data)["partitions"].values()
    assert all({hosts[each] for each in replicas} == {"east", "west"} for replicas in placed)


def test_numbers_left_out_come_from_the_brokers_settings() -> None:
    on = now(num_partitions=4, default_replication_factor=2)
    [result] = create(NewTopic("a"), on=on).results
    assert (result.partitions, result.replication_factor) == (4, 2)


def test_an_assignment_by_hand_is_kept() -> None:
    by_hand = [ManualReplicas(1, [2, 3]), ManualReplicas(0, [3, 1])]
    decision = create(NewTopic("a", assignments=by_hand))
    topic = decision.ops[0]
    assert isinstance(topic, Create)
    assert json.loads(topic.data)["partitions"] == {"0": [3, 1], "1": [2, 3]}
    [result] = decision.results
    assert (result.partitions, result.replication_factor) == (2, 2)


INVALID = ErrorCode.INVALID_REPLICA_ASSIGNMENT


@pytest.mark.parametrize(
    ("by_hand", "error", "why"),
    [
        ([(1, [1])], INVALID, "numbered from 0"),
        ([(0, [1]), (0, [1])], INVALID, "numbered from 0"),
        ([(0, [1]), (2, [1])], INVALID, "numbered from 0"),
        ([(0, [])], INVALID, "partition 0 has no replicas"),
        ([(0, [1, 1])], INVALID, "several replicas on one broker"),
        ([(0, [9])], INVALID, r"not alive: \[9\]"),
        ([(0, [1]), (1, [1, 2])], INVALID, "partition 1 has 2 replicas where the others have 1"),
    ],
)
def test_a_bad_assignment_is_refused(
    by_hand: list[tuple[int, list[int]]], error: ErrorCode, why: str
) -> None:
    decision = create(NewTopic("a", assignments=[ManualReplicas(*pair) for pair in by_hand]))
    [result] = decision.results
    assert (result.error, decision.ops) == (error, [])
    with pytest.raises(ApiError, match=why):
        raise ApiError(result.error, result.message or "")


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (NewTopic("a/b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("old_topic"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("old.topic"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (NewTopic("a", 0), ErrorCode.INVALID_PARTITIONS),
        (NewTopic("a", -2), ErrorCode.INVALID_PARTITIONS),
        (NewTopic("a", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("a", 1, 4), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("a", 1, assignments=[ManualReplicas(0, [1])]), ErrorCode.INVALID_REQUEST),
        (NewTopic("a", -1, 1, [ManualReplicas(0, [1])]), ErrorCode.INVALID_REQUEST),
        (NewTopic("a", configs={"retention.ms": "soon"}), ErrorCode.INVALID_CONFIG),
        (NewTopic("a", configs={"no.such": "1"}), ErrorCode.INVALID_CONFIG),
        (NewTopic("a", configs={"retention.ms": None}), ErrorCode.INVALID_CONFIG),
    ],
)
def test_a_bad_topic_is_refused_and_a_good_one_beside_it_made(
    topic: NewTopic, error: ErrorCode
) -> None:
    decision = create(topic, NewTopic("good"), on=now(cluster(topics=["old.topic"])))
    assert errors(decision) == [error, ErrorCode.NONE]
    assert {op.path.split("/")[3] for op in decision.ops} == {"good"}


def test_a_bad_setting_is_named() -> None:
    [result] = create(NewTopic("a", configs={"retention.ms": "soon"})).results
    assert "soon for configuration retention.ms" in (result.message or "")


def test_a_name_asked_for_twice_is_refused_once() -> None:
    decision = create(NewTopic("a"), NewTopic("b"), NewTopic("a", 2))
    assert [(r.name, r.error) for r in decision.results] == [
        ("a", ErrorCode.INVALID_REQUEST),
        ("b", ErrorCode.NONE),
    ]


def test_names_of_one_request_must_not_collide_either() -> None:
    assert errors(create(NewTopic("a.b"), NewTopic("a_b"))) == [
        ErrorCode.NONE,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    ]


@pytest.mark.parametrize(
    "topics", [[NewTopic("a", 2**31 - 1)], [NewTopic("a", 6000), NewTopic("b", 6000)]]
)
def test_too_many_partitions_fail_the_whole_request(topics: Sequence[NewTopic]) -> None:
    with pytest.raises(ApiError, match="too many for one request") as refused:
        create(*topics)
    assert refused.value.code == ErrorCode.POLICY_VIOLATION


def test_deleting_a_topic_removes_all_of_its_nodes_children_first() -> None:
    decision = decide_delete(now(cluster(topics=["a"], partitions=1)), [TopicRef("a")])
    assert decision.ops == [
        Delete("/brokers/topics/a/partitions/0/state"),
        Delete("/brokers/topics/a/partitions/0"),
        Delete("/brokers/topics/a/partitions"),
        Delete("/brokers/topics/a", 4),
        Delete("/config/topics/a"),
    ]
    assert decision.results == [TopicResult("a", topic_id=id_of(0))]


def test_topics_are_deleted_by_name_or_by_id() -> None:
    unknown = uuid.UUID(int=77)
    references = [
        TopicRef("a"),
        TopicRef(topic_id=id_of(1)),
        TopicRef("none"),
        TopicRef(topic_id=unknown),
        TopicRef(),
        TopicRef("c", id_of(2)),
    ]
    decision = decide_delete(now(cluster(topics=["a", "b", "c"])), references)
    assert [(r.name, r.topic_id, r.error) for r in decision.results] == [
        ("a", id_of(0), ErrorCode.NONE),
        ("b", id_of(1), ErrorCode.NONE),
        ("none", ZERO_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (None, unknown, ErrorCode.UNKNOWN_TOPIC_ID),
        (None, ZERO_ID, ErrorCode.INVALID_REQUEST),
        ("c", id_of(2), ErrorCode.INVALID_REQUEST),
    ]
    assert {op.path.split("/")[3] for op in decision.ops} == {"a", "b"}


def test_a_topic_named_twice_is_not_deleted_twice() -> None:
    on = now(cluster(topics=["a", "b"]))
    twice = decide_delete(on, [TopicRef("a"), TopicRef("a")])
    assert (errors(twice), twice.ops) == ([ErrorCode.INVALID_REQUEST], [])
    both = decide_delete(on, [TopicRef("a"), TopicRef(topic_id=id_of(0))])
    assert errors(both) == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]


def test_deletion_can_be_disabled() -> None:
    with pytest.raises(ApiError) as refused:
        decide_delete(now(cluster(topics=["a"]), delete_topic_enable=False), [TopicRef("a")])
    assert refused.value.code == ErrorCode.TOPIC_DELETION_DISABLED


def test_a_topic_grows_beside_what_it_has() -> None:
    on = now(cluster(topics=["a"]))
    decision = decide_partitions(on, [NewPartitions("a", 4, [[2, 3], [3, 1]])])
    topic, *rest = decision.ops
    assert isinstance(topic, Set)
    assert (topic.path, topic.version) == ("/brokers/topics/a", 4)
    assert json.loads(topic.data)["partitions"] == {
        "0": [1, 2],
        "1": [1, 2],
        "2": [2, 3],
        "3": [3, 1],
    }
    assert [op.path for op in rest] == [
        "/brokers/topics/a/partitions/2",
        "/brokers/topics/a/partitions/2/state",
        "/brokers/topics/a/partitions/3",
        "/brokers/topics/a/partitions/3/state",
    ]
    assert decision.results == [TopicResult("a", partitions=4)]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (NewPartitions("none", 3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (NewPartitions("a", 2), ErrorCode.INVALID_PARTITIONS),
        (NewPartitions("a", 1), ErrorCode.INVALID_PARTITIONS),
        (NewPartitions("a", -1), ErrorCode.INVALID_PARTITIONS),
        (NewPartitions("a", 4, [[1, 2]]), INVALID),
        (NewPartitions("a", 3, []), INVALID),
        (NewPartitions("a", 3, [[1]]), INVALID),
        (NewPartitions("a", 3, [[1, 9]]), INVALID),
    ],
)
def test_bad_growth_is_refused(request_: NewPartitions, error: ErrorCode) -> None:
    decision = decide_partitions(now(cluster(topics=["a"])), [request_])
    assert (errors(decision), decision.ops) == ([error], [])


def test_growth_is_bounded_and_asked_for_once() -> None:
    on = now(cluster(topics=["a"]))
    with pytest.raises(ApiError, match="too many"):
        decide_partitions(on, [NewPartitions("a", 2**31 - 1)])
    decision = decide_partitions(on, [NewPartitions("a", 3), NewPartitions("a", 4)])
    assert (errors(decision), decision.ops) == ([ErrorCode.INVALID_REQUEST], [])


def test_growth_that_needs_brokers_which_are_away_is_refused() -> None:
    image = cluster(brokers=3, topics=["a"])
    alone = image._replace(brokers={1: image.brokers[1]})
    decision = decide_partitions(now(alone), [NewPartitions("a", 3)])
    assert errors(decision) == [ErrorCode.INVALID_REPLICATION_FACTOR]
