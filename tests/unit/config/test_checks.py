"""A broker that would be less safe than its settings say, or contradict itself, does not start."""

import pytest

from ottla.base.errors import ConfigError
from ottla.config.load import load

MAP = "listener.security.protocol.map"


@pytest.mark.parametrize(
    "assignment",
    [
        "ssl.keystore.location=/etc/keystore.jks",
        "sasl.enabled.mechanisms=PLAIN",
        "listener.name.internal.ssl.keystore.location=/etc/keystore.jks",
        "listener.name.internal.scram-sha-256.sasl.jaas.config=x",
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users=User:admin",
        "security.inter.broker.protocol=SASL_SSL",
        "connections.max.reauth.ms=1000",
        "create.topic.policy.class.name=com.example.Policy",
        "config.providers=file",
        "remote.log.storage.system.enable=true",
        "zookeeper.ssl.client.enable=true",
        "listeners=SSL://:9092",
        "listeners=SASL_PLAINTEXT://:9092",
        "process.roles=controller",
    ],
)
def test_what_would_be_missing_refuses_the_start_by_name(assignment):
    with pytest.raises(ConfigError) as refused:
        load(assignments=[assignment])
    assert assignment.split("=")[0] in str(refused.value)


@pytest.mark.parametrize("name", ["OTTLA_SSL_KEYSTORE_LOCATION", "OTTLA_AUTHORIZER_CLASS_NAME"])
def test_the_environment_is_no_way_around(name):
    with pytest.raises(ConfigError, match=f"set by {name}"):
        load(environment={name: "x"})


def test_secrets_are_not_repeated():
    with pytest.raises(ConfigError) as refused:
        load(assignments=["ssl.key.password=hunter2"])
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "assignment",
    [
        "authorizer.class.name=",
        "security.inter.broker.protocol=PLAINTEXT",
        "connections.max.reauth.ms=0",
        "remote.log.storage.system.enable=false",
        "zookeeper.max.in.flight.requests=10",
        "zookeeper.ssl.client.enable=false",
        "listener.name.internal.max.connections=5",
    ],
)
def test_what_promises_nothing_is_let_pass(assignment):
    assert load(assignments=[assignment]).ignored + load(assignments=[assignment]).unknown


@pytest.mark.parametrize(
    ("assignments", "why"),
    [
        (["node.id=1", "broker.id=2"], "must equal node.id"),
        (["listeners=A://:1,A://:2", f"{MAP}=A:PLAINTEXT"], "name of its own"),
        (["listeners=A://:1,B://:1", f"{MAP}=A:PLAINTEXT,B:PLAINTEXT"], "port of its own"),
        (["listeners=INTERNAL://:9092"], "add INTERNAL:PLAINTEXT to listener.security"),
        (["listeners=INTERNAL://:9092", f"{MAP}=INTERNAL:SASL_SSL"], "SASL_SSL is not available"),
        (["listeners=C://:1", "controller.listener.names=C"], "not for controllers"),
        (["advertised.listeners=PLAINTEXT://0.0.0.0:9092"], "clients can reach"),
        (["advertised.listeners=PLAINTEXT://[::]:9092"], "clients can reach"),
        (["advertised.listeners=OTHER://h:9092"], "listener of the same name"),
        (["max.connections.per.ip=0"], "only with max.connections.per.ip.overrides"),
        (
            ["log.cleaner.min.compaction.lag.ms=10", "log.cleaner.max.compaction.lag.ms=5"],
            "must not exceed",
        ),
    ],
)
def test_contradictions_are_refused(assignments, why):
    with pytest.raises(ConfigError, match=why):
        load(assignments=assignments)


def test_several_listeners_and_free_ports_are_fine():
    settings = load(
        assignments=[
            "listeners=A://:0,B://localhost:0",
            f"{MAP}=A:PLAINTEXT,B:PLAINTEXT",
            "node.id=4",
            "broker.id=4",
        ]
    )
    assert [listener.name for listener in settings.server.listeners] == ["A", "B"]


@pytest.mark.parametrize(
    ("assignments", "named"),
    [
        (["group.consumer.session.timeout.ms=3000"], "group.consumer.session.timeout.ms"),
        (["group.consumer.heartbeat.interval.ms=16000"], "group.consumer.heartbeat.interval.ms"),
        (["group.consumer.assignment.interval.ms=15001"], "group.consumer.assignment.interval.ms"),
        (
            [
                "group.consumer.session.timeout.ms=5000",
                "group.consumer.min.session.timeout.ms=5000",
            ],
            "group.consumer.heartbeat.interval.ms",
        ),
    ],
)
def test_consumer_groups_whose_times_cannot_be_are_refused(assignments, named):
    with pytest.raises(ConfigError) as refused:
        load(assignments=assignments)
    assert refused.value.name == named


def test_who_bounds_the_assignment_interval_need_not_set_one():
    groups = load(assignments=["group.consumer.min.assignment.interval.ms=500"]).groups
    assert groups.group_consumer_assignment_interval_ms == 0


KRAFT_NODE = """
process.roles=broker,controller
node.id=2
controller.quorum.voters=1@a:9093,2@b:9093,3@c:9093
listeners=PLAINTEXT://b:9092,CONTROLLER://b:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
"""


def test_a_node_of_a_kraft_cluster_is_told_what_makes_it_a_cluster_here(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text(KRAFT_NODE)
    with pytest.raises(ConfigError) as refused:
        load(str(path))
    line = "zookeeper.connect=a:2181,b:2181,c:2181"
    assert "would stand alone" in str(refused.value)
    assert line in str(refused.value)
    path.write_text(KRAFT_NODE + line)
    connect = load(str(path)).zookeeper.connect
    assert connect is not None
    assert connect.hosts == ("a:2181", "b:2181", "c:2181")


@pytest.mark.parametrize(
    ("assignments", "word"),
    [
        (["controller.quorum.bootstrap.servers=a:9093,b:9093"], "node.id=1 (another number"),
        (["process.roles=broker", "controller.quorum.voters=1@a:9093"], "connect=a:2181"),
    ],
)
def test_a_quorum_elsewhere_is_a_cluster_too(assignments, word):
    with pytest.raises(ConfigError) as refused:
        load(assignments=assignments)
    assert word in str(refused.value)


def test_a_quorum_of_one_is_a_broker_alone():
    alone = ["process.roles=broker,controller", "controller.quorum.voters=1@localhost:9093"]
    assert load(assignments=alone).zookeeper.connect is None
