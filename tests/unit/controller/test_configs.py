"""What is decided about changes to settings."""

import json

import pytest

from ottla.cluster.image import Changes, ConfigImage, advance
from ottla.cluster.tree import Create, Delete, Op, Set
from ottla.cluster.znodes import decode_state
from ottla.config.dynamic import Change
from ottla.config.dynamic import Op as ConfigOp
from ottla.config.load import load
from ottla.config.table import Settings
from ottla.controller.configs import MAX_NODE_BYTES, ConfigBasis, cluster_min_isr, decide_configs
from ottla.controller.min_isr import MIN_ISR
from ottla.controller.requests import ConfigAlteration, ConfigResult, Decision, ResourceType
from ottla.protocol.errors import ErrorCode

from .clusters import cluster

TOPIC, BROKER, GROUP = map(int, (ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP))
SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"

IMAGE, _ = advance(
    cluster(topics=["a", "b"]),
    Changes(
        topic_configs={"a": ConfigImage({"retention.ms": "1000"}, 7)},
        broker_configs={"<default>": ConfigImage({"message.max.bytes": "5000"}, 3)},
        group_configs={"g": ConfigImage({SESSION: "46000"}, 2)},
    ),
)


def decide(*alterations: ConfigAlteration) -> Decision[ConfigResult]:
    """Decides on changes in the cluster of these tests."""
    settings = Settings()
    return decide_configs(ConfigBasis(IMAGE, settings, settings.log, 5), alterations)


def put(kind: int, name: str, *pairs: tuple[str, str | None], replace: bool = False):  # type: ignore[no-untyped-def]
    """An alteration that sets values."""
    changes = [Change(key, ConfigOp.SET, value) for key, value in pairs]
    return ConfigAlteration(kind, name, changes, replace)


def written(op: Op) -> tuple[str, int | None, dict[str, str]]:
    """Where an operation writes which settings, and at which version."""
    assert isinstance(op, Set | Create)
    version = op.version if isinstance(op, Set) else None
    return op.path, version, json.loads(op.data)["config"]


def test_a_topic_keeps_what_is_not_changed() -> None:
    decision = decide(put(TOPIC, "a", ("segment.ms", "5000")))
    assert [written(op) for op in decision.ops] == [
        ("/config/topics/a", 7, {"retention.ms": "1000", "segment.ms": "5000"})
    ]
    assert decision.results == [ConfigResult(TOPIC, "a")]


def test_a_replacement_keeps_nothing() -> None:
    [op] = decide(put(TOPIC, "a", ("segment.ms", "5000"), replace=True)).ops
    assert written(op)[2] == {"segment.ms": "5000"}


def test_a_setting_is_deleted() -> None:
    change = Change("retention.ms", ConfigOp.DELETE, None)
    [op] = decide(ConfigAlteration(TOPIC, "a", [change])).ops
    assert written(op)[2] == {}


def test_what_is_set_to_what_it_is_writes_nothing() -> None:
    decision = decide(put(TOPIC, "a", ("retention.ms", "1000")))
    assert (decision.ops, decision.results) == ([], [ConfigResult(TOPIC, "a")])


def test_brokers_and_all_brokers_are_changed() -> None:
    decision = decide(
        put(BROKER, "", ("log.retention.ms", "9")), put(BROKER, "1", ("log.retention.ms", "8"))
    )
    assert [written(op) for op in decision.ops] == [
        (
            "/config/brokers/<default>",
            3,
            {"message.max.bytes": "5000", "log.retention.ms": "9"},
        ),
        ("/config/brokers/1", None, {"log.retention.ms": "8"}),
    ]


def test_groups_keep_what_is_not_changed_and_need_not_exist() -> None:
    decision = decide(put(GROUP, "g", (HEARTBEAT, "6000")), put(GROUP, "a/b", (HEARTBEAT, "7000")))
    assert [written(op) for op in decision.ops] == [
        ("/config/groups/g", 2, {SESSION: "46000", HEARTBEAT: "6000"}),
        ("/config/groups/a%2Fb", None, {HEARTBEAT: "7000"}),
    ]
    assert decision.results == [ConfigResult(GROUP, "g"), ConfigResult(GROUP, "a/b")]


def test_a_group_without_settings_of_its_own_leaves_nothing_behind() -> None:
    change = Change(SESSION, ConfigOp.DELETE, None)
    assert decide(ConfigAlteration(GROUP, "g", [change])).ops == [Delete("/config/groups/g", 2)]
    assert decide(put(GROUP, "g", replace=True)).ops == [Delete("/config/groups/g", 2)]
    assert decide(ConfigAlteration(GROUP, "never", [change])).ops == []


@pytest.mark.parametrize(
    ("alteration", "error", "said"),
    [
        (put(TOPIC, "none"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "topic"),
        (put(TOPIC, "a", ("retention.ms", "x")), ErrorCode.INVALID_CONFIG, "retention.ms"),
        (put(TOPIC, "a", ("no.such", "x")), ErrorCode.INVALID_CONFIG, "no.such"),
        (put(TOPIC, "a", ("retention.ms", None)), ErrorCode.INVALID_CONFIG, "retention.ms"),
        (put(BROKER, "9"), ErrorCode.BROKER_ID_NOT_REGISTERED, "9"),
        (put(BROKER, "x"), ErrorCode.INVALID_REQUEST, "x"),
        (put(BROKER, "9" * 5000), ErrorCode.INVALID_REQUEST, "not the id of a broker"),
        (put(BROKER, "1", ("log.dirs", "/x")), ErrorCode.INVALID_REQUEST, "log.dirs"),
        (put(BROKER, "", ("message.max.bytes", "x")), ErrorCode.INVALID_REQUEST, "message.max"),
        (put(BROKER, "", ("mine", "x" * MAX_NODE_BYTES)), ErrorCode.INVALID_REQUEST, "bytes"),
        (put(GROUP, "", (SESSION, "46000")), ErrorCode.INVALID_REQUEST, "Default group"),
        (put(GROUP, "g", (SESSION, "1")), ErrorCode.INVALID_CONFIG, "group.consumer.min.session"),
        (put(GROUP, "g", ("no.such", "1")), ErrorCode.INVALID_CONFIG, "Unknown group config name"),
        (put(8, "1"), ErrorCode.INVALID_REQUEST, "type 8"),
    ],
)
def test_a_bad_change_is_refused_and_a_good_one_beside_it_made(
    alteration: ConfigAlteration, error: ErrorCode, said: str
) -> None:
    decision = decide(alteration, put(TOPIC, "b", ("retention.ms", "1")))
    bad, good = decision.results
    assert (bad.error, good.error) == (error, ErrorCode.NONE)
    assert said in (bad.message or "")
    assert [op.path for op in decision.ops] == ["/config/topics/b"]


def test_of_one_resource_all_changes_are_made_or_none() -> None:
    decision = decide(put(TOPIC, "a", ("segment.ms", "5000"), ("retention.ms", "x")))
    assert decision.ops == []


def test_a_resource_named_twice_is_refused() -> None:
    decision = decide(put(TOPIC, "a", ("segment.ms", "1")), put(TOPIC, "a", ("segment.ms", "2")))
    assert [r.error for r in decision.results] == [ErrorCode.INVALID_REQUEST]
    assert decision.ops == []


def in_cluster(
    *alterations: ConfigAlteration, elr: tuple[int, ...] = (2,), **configs: str
) -> Decision[ConfigResult]:
    """Decides in a cluster with ZooKeeper, one of whose partitions has an eligible leader outside of the ISR."""
    topic = IMAGE.topics["b"]
    short = topic.partitions[0]._replace(isr=(1,), elr=elr, lives={1: 3, 2: 4}, left={3: (1, 2)})
    image, _ = advance(
        IMAGE,
        Changes(
            topics={"b": topic._replace(partitions=(short, *topic.partitions[1:]))},
            broker_configs={"<default>": ConfigImage({MIN_ISR: "2", **configs}, 3)},
        ),
    )
    settings = load(None, {}, ["zookeeper.connect=localhost:2181", "min.insync.replicas=2"])
    return decide_configs(ConfigBasis(image, settings, settings.log, 5), alterations)


@pytest.mark.parametrize(
    "change",
    [put(BROKER, "", (MIN_ISR, "1")), put(TOPIC, "b", (MIN_ISR, "1"))],
    ids=["of the cluster", "of a topic"],
)
def test_another_min_isr_clears_who_was_eligible_by_the_old_one_in_the_same_step(
    change: ConfigAlteration,
) -> None:
    state, _ = in_cluster(change).ops
    assert isinstance(state, Set)
    assert (state.path, state.version) == ("/brokers/topics/b/partitions/0/state", 0)
    found = decode_state(state.path, state.data)
    assert (found.isr, found.elr, found.lives) == ((1,), (), {1: 3})
    assert found.left == {2: None, 3: (1, 2)}


def test_the_same_min_isr_or_that_of_others_changes_nobody() -> None:
    for change in (
        put(BROKER, "", (MIN_ISR, "2"), ("message.max.bytes", "7000")),
        put(TOPIC, "a", (MIN_ISR, "1")),
        put(TOPIC, "b", ("retention.ms", "5")),
    ):
        assert len(in_cluster(change).ops) == 1


def test_min_isr_is_one_for_the_whole_cluster() -> None:
    [own] = in_cluster(put(BROKER, "1", (MIN_ISR, "1"))).results
    assert own.error is ErrorCode.INVALID_REQUEST
    assert "one for the whole cluster" in str(own.message)
    deleted = ConfigAlteration(BROKER, "", [Change(MIN_ISR, ConfigOp.DELETE, None)])
    [gone] = in_cluster(deleted).results
    assert gone.error is ErrorCode.INVALID_REQUEST
    [kept] = in_cluster(put(BROKER, "", ("message.max.bytes", "9000"), replace=True)).ops
    assert written(kept)[2] == {"message.max.bytes": "9000", MIN_ISR: "2"}


def test_the_first_controller_writes_the_min_isr_of_its_file() -> None:
    settings = load(None, {}, ["zookeeper.connect=localhost:2181", "min.insync.replicas=2"])
    basis = ConfigBasis(IMAGE, settings, settings.log, 5)
    [op] = decide_configs(basis, cluster_min_isr(basis)).ops
    assert written(op)[2] == {"message.max.bytes": "5000", MIN_ISR: "2"}
    alone = ConfigBasis(IMAGE, Settings(), settings.log, 5)
    assert not cluster_min_isr(alone), "one that keeps its own metadata is no cluster"
