"""Loading: file, environment and command line become typed settings, or one clear refusal."""

import logging

import pytest

from ottla.base.errors import ConfigError
from ottla.config.listeners import BESIDE_THE_BROKER, Address, Listener
from ottla.config.load import environment_name, load, tell_ignored
from ottla.config.table import TABLE

KRAFT = """
# The settings that Kafka's own single-node file has.
process.roles=broker,controller
node.id=7
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
log.dirs=/var/lib/kafka, /mnt/kafka
num.partitions=4
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=24
log.segment.bytes=1073741824
my.own.note=hello
"""


@pytest.fixture
def kraft_file(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text(KRAFT)
    return str(path)


def test_a_file_written_for_kafka_starts_a_broker(kraft_file):
    settings = load(kraft_file)
    assert settings.server.node_id == 7
    assert settings.server.listeners == (Listener("PLAINTEXT", "", 9092),)
    assert settings.server.advertised_listeners == (Listener("PLAINTEXT", "localhost", 9092),)
    assert settings.storage.log_dirs == ("/var/lib/kafka", "/mnt/kafka")
    assert settings.topics.num_partitions == 4
    assert settings.log.retention_ms == 24 * 3600 * 1000


def test_what_means_nothing_here_draws_one_warning(kraft_file, caplog, monkeypatch):
    settings = load(kraft_file)
    assert settings.unknown == ("my.own.note",)
    assert "num.io.threads" in settings.ignored
    assert "controller.listener.names" in settings.ignored
    monkeypatch.setattr(logging.getLogger("ottla"), "propagate", True)
    tell_ignored(settings)
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]


def test_the_environment_is_stronger_than_the_file_and_the_command_line_than_both(kraft_file):
    environment = {"OTTLA_NUM_PARTITIONS": "5", "OTTLA_LOG_SEGMENT_BYTES": "2000000"}
    settings = load(kraft_file, environment, ["num.partitions=6"])
    assert settings.topics.num_partitions == 6
    assert settings.log.segment_bytes == 2_000_000
    assert settings.given["num.partitions"].source == "--set"


def test_ottlas_own_settings_lose_their_prefix_in_the_environment():
    environment = {"OTTLA_METRICS_LISTENER": "127.0.0.1:9644", "OTTLA_LOG_FORMAT": "json"}
    settings = load(environment={**environment, "PATH": "x"})
    assert settings.ottla.metrics_listener == Address("127.0.0.1", 9644)
    assert settings.ottla.log_format == "json"


def test_the_old_name_of_the_metrics_listener_still_works():
    assert load().ottla.metrics_listener == BESIDE_THE_BROKER
    assert load(assignments=["ottla.http.listener="]).ottla.metrics_listener is None
    settings = load(environment={"OTTLA_HTTP_LISTENER": "0.0.0.0:8082"})
    assert settings.ottla.metrics_listener == Address("0.0.0.0", 8082)


def test_no_two_settings_share_an_environment_variable():
    assert len({environment_name(name) for name in TABLE}) == len(TABLE)


def test_variables_of_the_test_suite_are_no_settings():
    assert load(environment={"OTTLA_REQUIRE_ALL": "1", "OTTLA_TYPO": "1"}).unknown == ("typo",)


@pytest.mark.parametrize(
    ("given", "retention_ms"),
    [
        (["log.retention.hours=1"], 3_600_000),
        (["log.retention.hours=1", "log.retention.minutes=2"], 120_000),
        (["log.retention.minutes=2", "log.retention.ms=3"], 3),
        (["log.retention.hours=-1"], -1),
    ],
)
def test_the_finest_unit_of_retention_wins(given, retention_ms):
    assert load(assignments=given).log.retention_ms == retention_ms


def test_other_synonyms_give_their_values_too():
    settings = load(assignments=["log.roll.hours=2", "broker.id=3", "log.dir=/data"])
    assert settings.log.segment_ms == 7_200_000
    assert settings.server.node_id == 3
    assert settings.storage.log_dirs == ("/data",)
    assert load(assignments=["broker.id=-1"]).server.node_id == 1


def test_an_ill_typed_value_is_refused_with_its_name_value_range_and_source(tmp_path):
    path = tmp_path / "broker.conf"
    path.write_text("log.segment.bytes=ten")
    with pytest.raises(ConfigError) as refused:
        load(str(path))
    assert str(refused.value) == (
        f"log.segment.bytes=ten: must be a whole number of at least 1048576 (set by {path})"
    )


def test_a_mistyped_name_on_the_command_line_is_refused_with_a_guess():
    with pytest.raises(ConfigError, match=r"did you mean num\.partitions\?"):
        load(assignments=["num.partition=3"])
    with pytest.raises(ConfigError, match="form name=value"):
        load(assignments=["num.partitions"])


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.properties: cannot be read"):
        load(str(tmp_path / "nowhere.properties"))
    broken = tmp_path / "broken.properties"
    broken.write_text("a=\\u1")
    with pytest.raises(ConfigError, match="four hexadecimal digits"):
        load(str(broken))


def test_a_file_that_is_not_utf_8_is_read_as_java_reads_it(tmp_path):
    path = tmp_path / "old.properties"
    path.write_bytes(b"broker.rack=caf\xe9")
    assert load(str(path)).server.broker_rack == "café"
