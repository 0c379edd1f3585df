"""Settings of one group: Kafka's names and defaults, within the bounds that the broker sets for all groups."""

import pytest

from ottla.base.errors import ConfigError
from ottla.config.dynamic import Change, Op, alter_group
from ottla.config.group import GROUP_SETTINGS, GroupConfig, resolve_group
from ottla.config.groups import GroupsConfig
from ottla.config.kafka import why_refused_for_groups

from .kafka_facts import facts

KAFKAS = facts("group")
HEARTBEAT, SESSION = "consumer.heartbeat.interval.ms", "consumer.session.timeout.ms"
ASSIGNMENT = "consumer.assignment.interval.ms"
BROKER = GroupsConfig(
    group_consumer_min_session_timeout_ms=1_000, group_consumer_min_heartbeat_interval_ms=100
)


def put(**settings: str) -> list[Change]:
    return [Change(f"consumer.{n.replace('_', '.')}", Op.SET, v) for n, v in settings.items()]


@pytest.mark.parametrize("row", GROUP_SETTINGS.values(), ids=GROUP_SETTINGS)
def test_types_and_defaults_are_kafkas(row):
    fact = KAFKAS[row.name]
    assert row.usual.kind.word == fact.type
    if row.name != ASSIGNMENT:  # it costs too little to wait for
        assert row.usual.default_text() == fact.default
    assert row.least.default <= row.usual.default <= row.most.default
    assert row.doc[0].isupper()
    assert row.doc.endswith(".")


@pytest.mark.parametrize("name", KAFKAS)
def test_every_group_setting_of_kafka_has_meaning_or_is_refused(name):
    assert (name in GROUP_SETTINGS) != bool(why_refused_for_groups(name))


def test_a_group_without_settings_has_those_of_the_broker():
    broker = GroupsConfig(group_consumer_session_timeout_ms=46_000)
    assert resolve_group(broker, {}) == GroupConfig(
        consumer_heartbeat_interval_ms=5_000,
        consumer_session_timeout_ms=46_000,
        consumer_assignment_interval_ms=0,
    )


def test_a_group_has_what_it_was_given():
    own = alter_group({}, put(session_timeout_ms=" 02000 ", heartbeat_interval_ms="100"), BROKER)
    assert own == {SESSION: "2000", HEARTBEAT: "100"}
    assert resolve_group(BROKER, own) == (100, 2_000, 0)
    own = alter_group(own, [Change(SESSION, Op.DELETE, None)], BROKER)
    assert resolve_group(BROKER, own) == (100, 45_000, 0)


def test_what_was_set_under_wider_bounds_is_moved_into_those_of_now():
    usual = GroupsConfig()
    assert resolve_group(usual, {SESSION: "2000", HEARTBEAT: "100"}) == (5_000, 45_000, 0)
    assert resolve_group(usual, {SESSION: "99000", HEARTBEAT: "99000"}) == (15_000, 60_000, 0)


def test_what_somebody_wrote_into_the_tree_by_hand_harms_no_member():
    assert resolve_group(BROKER, {SESSION: "soon", "no.such": "1"}) == (5_000, 45_000, 0)


@pytest.mark.parametrize(
    ("changes", "name", "why"),
    [
        (put(session_timeout_ms="999"), SESSION, "equal to group.consumer.min.session.timeout.ms"),
        (put(session_timeout_ms="60001"), SESSION, "group.consumer.max.session.timeout.ms"),
        (put(heartbeat_interval_ms="99"), HEARTBEAT, "group.consumer.min.heartbeat.interval.ms"),
        (put(heartbeat_interval_ms="15001"), HEARTBEAT, "group.consumer.max.heartbeat.interval"),
        (put(session_timeout_ms="5000"), SESSION, "must be greater than consumer.heartbeat"),
        (put(session_timeout_ms="soon"), SESSION, "must be a whole number"),
        (put(assignment_interval_ms="15001"), ASSIGNMENT, "group.consumer.max.assignment.interval"),
        ([Change("share.isolation.level", Op.SET, "x")], "share.isolation.level", "not served"),
        ([Change("no.such", Op.SET, "1")], "no.such", "is not a group setting"),
        ([Change(SESSION, Op.APPEND, "1")], SESSION, "not a list"),
    ],
)
def test_what_cannot_be_is_refused(changes, name, why):
    with pytest.raises(ConfigError) as refused:
        alter_group({}, changes, BROKER)
    assert refused.value.name == name
    assert why in refused.value.why


def test_bounds_of_what_a_group_does_not_ask_for_do_not_matter():
    broker = GroupsConfig(group_consumer_min_assignment_interval_ms=500)
    own = alter_group({}, put(session_timeout_ms="46000"), broker)
    assert resolve_group(broker, own).consumer_assignment_interval_ms == 0
    with pytest.raises(ConfigError, match=r"group\.consumer\.min\.assignment\.interval\.ms"):
        alter_group(own, put(assignment_interval_ms="499"), broker)


def test_what_was_set_for_all_groups_is_moved_into_the_bounds_of_a_broker():
    for interval_ms, resolved_ms in ((0, 0), (1, 500), (600, 600), (3_000, 2_000)):
        broker = GroupsConfig(
            group_consumer_assignment_interval_ms=interval_ms,
            group_consumer_min_assignment_interval_ms=500,
            group_consumer_max_assignment_interval_ms=2_000,
        )
        assert resolve_group(broker, {}).consumer_assignment_interval_ms == resolved_ms
