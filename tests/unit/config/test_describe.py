"""DescribeConfigs: every value in Kafka's own text, and where it comes from."""

from ottla.config.describe import (
    Source,
    describe_broker,
    describe_cluster,
    describe_group,
    describe_topic,
)
from ottla.config.dynamic import Overlay
from ottla.config.group import GROUP_SETTINGS
from ottla.config.load import load
from ottla.config.log import TOPIC_SETTINGS
from ottla.config.table import SYNONYMS, TABLE, Settings

from .kafka_facts import facts

PLAIN = Overlay(Settings())


def one(rows):
    [row] = rows
    return row


def test_a_topic_without_overrides_shows_every_setting_at_kafkas_default():
    rows = describe_topic(PLAIN, {})
    assert [row.name for row in rows] == sorted(TOPIC_SETTINGS)
    kafkas = facts("topic")
    assert {row.name: row.value for row in rows} == {
        name: kafkas[name].default for name in TOPIC_SETTINGS
    }
    assert {row.source for row in rows} == {Source.DEFAULT}
    assert not any(row.read_only or row.is_sensitive for row in rows)


def test_an_override_is_shown_as_kafka_prints_it():
    row = one(describe_topic(PLAIN, {"cleanup.policy": " compact"}, ["cleanup.policy"]))
    assert (row.value, row.source, row.type_code) == ("compact", Source.DYNAMIC_TOPIC, 7)
    assert row.synonyms == (
        ("cleanup.policy", "compact", Source.DYNAMIC_TOPIC),
        ("log.cleanup.policy", "delete", Source.DEFAULT),
    )


def test_synonyms_show_every_level_strongest_first():
    overlay = Overlay(
        load(assignments=["log.segment.bytes=3000000"]),
        cluster={"log.segment.bytes": "4000000"},
        broker={"log.segment.bytes": "5000000"},
    )
    row = one(describe_topic(overlay, {"segment.bytes": "6000000"}, ["segment.bytes"]))
    assert [(s.value, int(s.source)) for s in row.synonyms] == [
        ("6000000", 1),
        ("5000000", 2),
        ("4000000", 3),
        ("3000000", 4),
        ("1073741824", 5),
    ]


def test_retention_shows_the_unit_it_was_given_in():
    assert one(describe_topic(PLAIN, {}, ["retention.ms"])).synonyms == ()
    overlay = Overlay(load(assignments=["log.retention.hours=24"]))
    row = one(describe_topic(overlay, {}, ["retention.ms"]))
    assert (row.value, row.source) == ("86400000", Source.STATIC_BROKER)
    assert row.synonyms[0] == ("log.retention.hours", "24", Source.STATIC_BROKER)


def test_a_group_shows_its_own_value_above_those_of_the_broker():
    name, usual = "consumer.session.timeout.ms", "group.consumer.session.timeout.ms"
    overlay = Overlay(load(assignments=[f"{usual}=50000"]))
    given = (usual, "50000", Source.STATIC_BROKER)
    default = (usual, "45000", Source.DEFAULT)
    row = one(describe_group(overlay, {}, [name]))
    assert (row.value, row.source, row.synonyms) == ("50000", 4, (given, default))
    row = one(describe_group(overlay, {name: "46000"}, [name]))
    assert (row.value, row.source, row.type_code) == ("46000", 8, 3)
    assert row.synonyms == ((name, "46000", Source.DYNAMIC_GROUP), given, default)
    assert (row.read_only, row.is_sensitive) == (False, False)


def test_a_group_shows_every_setting_it_has():
    assert [row.name for row in describe_group(PLAIN, {})] == sorted(GROUP_SETTINGS)
    assert all(row.documentation for row in describe_group(PLAIN, {}))


def test_unknown_names_have_no_row():
    assert describe_topic(PLAIN, {}, ["no.such.thing"]) == []
    assert describe_group(PLAIN, {"no.such.thing": "1"}, ["no.such.thing"]) == []
    assert describe_broker(PLAIN, ["no.such.thing"]) == []


def test_a_broker_shows_every_setting_under_every_name():
    rows = describe_broker(PLAIN)
    assert {row.name for row in rows} == TABLE.keys() | SYNONYMS.keys()
    assert all(row.documentation for row in rows)


def test_a_broker_tells_what_was_given_and_what_may_change():
    overlay = Overlay(load(assignments=["num.partitions=3"]), broker={"max.connections": "9"})
    rows = {row.name: row for row in describe_broker(overlay)}
    partitions, connections = rows["num.partitions"], rows["max.connections"]
    assert (partitions.value, partitions.source) == ("3", Source.STATIC_BROKER)
    assert partitions.read_only
    assert (connections.value, connections.source) == ("9", Source.DYNAMIC_BROKER)
    assert not connections.read_only
    assert (rows["log.retention.ms"].value, rows["log.retention.hours"].value) == (None, "168")


def test_what_nobody_knows_may_be_a_secret():
    overlay = Overlay(Settings(), cluster={"some.plugin": "hunter2"})
    row = one(describe_broker(overlay, ["some.plugin"]))
    assert (row.value, row.is_sensitive) == (None, True)
    assert row.source == Source.DYNAMIC_DEFAULT_BROKER


def test_the_cluster_shows_what_was_set_for_all_brokers():
    overlay = Overlay(
        load(assignments=["message.max.bytes=5"]),
        cluster={"message.max.bytes": "6"},
        broker={"message.max.bytes": "7", "max.connections": "8"},
    )
    row = one(describe_cluster(overlay))
    assert (row.name, row.value, row.source) == ("message.max.bytes", "6", 3)
