"""What is decided about changes to settings."""

import json

import pytest

from ottla.cluster.image import Changes, ConfigImage, advance
from ottla.cluster.tree import Create, Delete, Op, Set
from ottla.config.dynamic import Change
from ottla.config.dynamic import Op as ConfigOp
from ottla.config.table import Settings
from ottla.controller.configs import MAX_NODE_BYTES, decide_configs
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
    return decide_configs(IMAGE, settings, settings.log, alterations)


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
