"""The table of settings: complete, documented, and of one mind with Kafka 4.3."""

import dataclasses
import subprocess
import sys

import pytest

from ottla.config.kafka import is_ignored, why_refused
from ottla.config.kinds import Kind
from ottla.config.log import TOPIC_SETTINGS, LogConfig
from ottla.config.own import PREFIX
from ottla.config.setting import Setting, Synonym
from ottla.config.table import SYNONYMS, TABLE, Settings, from_texts, value_of

from .kafka_facts import facts

BROKER = facts("broker")
TOPIC = facts("topic")
EVERY: list[Setting | Synonym] = [row.setting for row in TABLE.values()]
EVERY += [synonym for synonym, _ in SYNONYMS.values()]
KAFKA_3_9 = {
    "zookeeper.connect": ("string", ""),
    "zookeeper.session.timeout.ms": ("int", "9000"),  # broker.session.timeout.ms of Kafka 4
    "zookeeper.connection.timeout.ms": ("int", ""),
    "zookeeper.set.acl": ("boolean", "false"),
    "broker.id.generation.enable": ("boolean", "true"),
    "reserved.broker.max.id": ("int", "1000"),
}
"""Type and default of what went with ZooKeeper: Kafka 4 has it no longer."""
SHOWN_ONCE_SET = {
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
}
"""Kafka takes these at run time alone, and does not describe them before."""
KAFKAS = [
    row
    for row in EVERY
    if not row.name.startswith(PREFIX) and row.name not in {*KAFKA_3_9, *SHOWN_ONCE_SET}
]

OWN_DEFAULTS = {
    "node.id",  # Kafka requires it
    "broker.id",  # Kafka has -1 for not set
    "log.dir",  # a directory of its own
    "listeners",  # nobody else can connect unless it is asked for
    "advertised.listeners",
    "socket.send.buffer.bytes",  # the kernel adapts its buffers better than 100 KB
    "socket.receive.buffer.bytes",
    "socket.listen.backlog.size",  # two thousand clients may come at once
    "group.consumer.assignment.interval.ms",  # assignments cost too little to wait for
}


def names(rows):
    return [row.name for row in rows]


@pytest.mark.parametrize("row", EVERY, ids=names(EVERY))
def test_every_setting_has_a_sentence(row):
    assert row.doc[0].isupper()
    assert row.doc.endswith(".")
    assert row.doc.count(". ") == 0
    assert len(row.doc.split()) >= 4


@pytest.mark.parametrize("row", KAFKAS, ids=names(KAFKAS))
def test_types_and_defaults_are_kafkas(row):
    fact = BROKER[row.name]
    assert row.kind.word == fact.type
    if row.name not in OWN_DEFAULTS:
        assert (row.default_text() or "") == ("" if fact.default == "null" else fact.default)


@pytest.mark.parametrize("name", KAFKA_3_9)
def test_what_kafka_had_for_zookeeper_is_as_it_was(name):
    row = TABLE[name].setting
    assert (row.kind.word, row.default_text() or "") == KAFKA_3_9[name]


@pytest.mark.parametrize("row", [row.setting for row in TABLE.values()], ids=list(TABLE))
def test_what_changes_at_run_time_here_does_so_in_kafka(row: Setting):
    may_stay_fixed = {"listener.security.protocol.map", "listeners"}
    if row.name in BROKER and row.name not in may_stay_fixed:
        assert row.scope.value == BROKER[row.name].changes


@pytest.mark.parametrize("name", TOPIC_SETTINGS)
def test_topic_settings_have_kafkas_types_and_defaults(name):
    row, fact = TOPIC_SETTINGS[name], TOPIC[name]
    assert row.kind.word == fact.type
    assert row.kind.text(row.default) == fact.default
    assert row.attribute == name.replace(".", "_")


def test_the_topic_settings_left_out_are_known():
    assert sorted(TOPIC.keys() - TOPIC_SETTINGS.keys()) == [
        "local.retention.bytes",
        "local.retention.ms",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "remote.storage.enable",
    ]


@pytest.mark.parametrize("name", BROKER)
def test_every_setting_of_kafka_has_meaning_or_is_ignored_or_refused(name):
    has_meaning = name in TABLE or name in SYNONYMS
    assert has_meaning or is_ignored(name) or why_refused(name, "anything")
    assert not (has_meaning and why_refused(name, "anything"))


@pytest.mark.parametrize("row", EVERY, ids=names(EVERY))
def test_every_default_is_a_value_that_may_be_written(row):
    kind: Kind[object] = row.kind
    if row.default not in (None, ()):
        assert kind.parse(kind.text(row.default)) == row.default


def test_nothing_given_gives_the_defaults():
    assert from_texts({}) == Settings()
    assert from_texts({}).log == LogConfig()
    for row in TABLE.values():
        assert value_of(Settings(), row) == row.setting.default


def test_settings_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().topics.num_partitions = 2  # type: ignore[misc]


def test_configuration_brings_no_heavy_imports():
    code = "import sys, ottla.config.load, ottla.config.describe; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"asyncio", "pathlib", "difflib", "socket", "urllib.parse", "argparse", "decimal"}
    assert heavy.isdisjoint(loaded.stdout.split())
