"""Changes over the wire: what they leave behind, and what is refused."""

import pytest

from ottla.base.errors import ConfigError
from ottla.config.dynamic import (
    Change,
    Op,
    Overlay,
    alter_broker,
    alter_topic,
    replace_broker,
    replace_topic,
)
from ottla.config.load import load
from ottla.config.log import LogConfig
from ottla.config.table import Settings

DEFAULTS = LogConfig()


def topic(current, *changes):
    return alter_topic(current, [Change(*change) for change in changes], DEFAULTS)


def broker(current, *changes):
    return alter_broker(current, [Change(*change) for change in changes], Settings())


def test_a_topic_is_resolved_over_the_brokers_values():
    defaults = load(assignments=["log.retention.ms=5", "log.segment.bytes=2000000"]).log
    config = LogConfig.resolve(defaults, {"retention.ms": "9", "cleanup.policy": "compact"})
    assert (config.retention_ms, config.segment_bytes) == (9, 2_000_000)
    assert config.cleanup_policy == {"compact"}
    assert LogConfig.resolve(defaults, {}) is defaults


def test_the_brokers_own_dynamic_value_is_stronger_than_the_clusters():
    overlay = Overlay(
        load(assignments=["log.retention.ms=1", "message.max.bytes=1"]),
        cluster={"log.retention.ms": "2", "message.max.bytes": "2", "unknown.name": "x"},
        broker={"log.retention.ms": "3"},
    )
    effective = overlay.effective().log
    assert (effective.retention_ms, effective.max_message_bytes) == (3, 2)
    assert overlay.settings.log.retention_ms == 1


def test_values_are_set_in_their_plain_form_and_deleted():
    after = topic({}, ("retention.ms", Op.SET, " +100 "), ("preallocate", Op.SET, "TRUE"))
    assert after == {"retention.ms": "100", "preallocate": "true"}
    assert topic(after, ("retention.ms", Op.DELETE, None)) == {"preallocate": "true"}
    assert topic(after, ("segment.ms", Op.DELETE, None)) == after


def test_lists_are_appended_to_and_subtracted_from():
    both = topic({}, ("cleanup.policy", Op.APPEND, "compact"))
    assert both == {"cleanup.policy": "delete,compact"}
    assert topic(both, ("cleanup.policy", Op.APPEND, "compact")) == both
    assert topic(both, ("cleanup.policy", Op.SUBTRACT, "delete")) == {"cleanup.policy": "compact"}


def test_what_went_in_is_not_changed():
    current = {"retention.ms": "1"}
    topic(current, ("retention.ms", Op.SET, "2"))
    assert current == {"retention.ms": "1"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("retention.ms", Op.SET, "soon"), "retention.ms=soon: must be a whole number"),
        (("retention.ms", Op.SET, None), "must have a value"),
        (("retention.ms", Op.APPEND, "1"), "not a list"),
        (("no.such.thing", Op.SET, "1"), "no.such.thing=1: is not a topic setting"),
        (("log.retention.ms", Op.SET, "1"), "is not a topic setting"),
        (("no.such.thing", Op.APPEND, "1"), "is not a topic setting"),
        (("remote.storage.enable", Op.SET, "true"), "tiered storage"),
        (("cleanup.policy", Op.APPEND, "shred"), "must be delete or compact"),
        (("max.compaction.lag.ms", Op.SET, "5"), "must not exceed"),
    ],
)
def test_a_topic_refuses_what_it_cannot_be(change, why):
    with pytest.raises(ConfigError, match=why):
        topic({"min.compaction.lag.ms": "10"}, change)


def test_a_setting_may_be_changed_only_once_in_a_request():
    with pytest.raises(ConfigError, match="only once"):
        topic({}, ("retention.ms", Op.SET, "1"), ("retention.ms", Op.DELETE, None))


def test_replacing_forgets_what_is_not_named():
    assert replace_topic({"segment.ms": "5"}, DEFAULTS) == {"segment.ms": "5"}
    with pytest.raises(ConfigError, match="must have a value"):
        replace_topic({"segment.ms": None}, DEFAULTS)


def test_a_broker_takes_what_may_change_while_it_runs():
    interval = "group.consumer.assignment.interval.ms"
    assert broker({}, (interval, Op.SET, "1000")) == {interval: "1000"}
    after = broker({}, ("log.retention.ms", Op.SET, "5"), ("some.plugin", Op.SET, "kept"))
    assert after == {"log.retention.ms": "5", "some.plugin": "kept"}
    assert broker({}, ("log.cleanup.policy", Op.APPEND, "compact")) == {
        "log.cleanup.policy": "delete,compact"
    }


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ({"num.partitions": "3"}, "cannot be changed while the broker runs"),
        ({"log.retention.hours": "3"}, "cannot be changed while the broker runs"),
        ({"retention.ms": "3"}, "for all of them set log.retention.ms"),
        ({"log.retention.ms": "x"}, "must be a whole number"),
        ({"ssl.keystore.location": "x"}, "TLS is not available"),
        ({"max.connections.per.ip": "0"}, "overrides"),
        ({"group.consumer.assignment.interval.ms": "15001"}, "bounds, which are 0 and 15000"),
        ({"group.consumer.session.timeout.ms": "50000"}, "cannot be changed while"),
        (
            {"log.cleaner.max.compaction.lag.ms": "1", "log.cleaner.min.compaction.lag.ms": "2"},
            "lag",
        ),
    ],
)
def test_a_broker_refuses_the_rest(texts, why):
    with pytest.raises(ConfigError, match=why):
        replace_broker(texts, Settings())


def test_only_lists_of_a_broker_can_be_added_to():
    with pytest.raises(ConfigError, match="not a list"):
        broker({}, ("message.max.bytes", Op.APPEND, "1"))
    with pytest.raises(ConfigError, match="cannot be added to"):
        broker({}, ("some.plugin", Op.SUBTRACT, "1"))
