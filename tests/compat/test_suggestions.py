"""Lines from old tutorials and with slips of the hand: the line that a command suggests in their place runs."""

import re
import shlex
import subprocess

import pytest

from tests.support.broker import OTTLA
from tests.support.clients import create_topic, produce

pytestmark = pytest.mark.compat

LINES = {
    "console-producer": (
        "kafka-console-producer.sh --zookeeper localhost:2181 --topic TOPIC --from-beginning"
    ),
    "console-consumer": (
        "kafka-console-consumer.sh --zookeeper localhost:2181 --topic TOPIC --from-beginning "
        "--max-messages 1"
    ),
    "console-consumer, a slip": (
        "kafka-console-consumer --bootstrap-server localhost:9092 --topic TOPIC --from-begining "
        "--max-messages 1 --producer-property acks=all"
    ),
    "topics, list": "kafka-topics.sh --list --zookeeper localhost:2181",
    "topics, create": (
        "kafka-topics.sh --create --zookeeper localhost:2181/kafka --replication-factor 1 "
        "--partitions 1 --topic TOPIC-new"
    ),
    "topics, describe": "kafka-topics.sh --zookeeper=localhost:2181 --describe --topic TOPIC",
    "topics, settings": (
        "kafka-topics.sh --zookeeper localhost:2181 --alter --topic TOPIC --config retention.ms=1000 "
        "--config max.message.bytes=64000"
    ),
    "configs": (
        "kafka-configs.sh --zookeeper localhost:2181 --entity-type topics --entity-name TOPIC "
        "--alter --add-config retention.ms=1000"
    ),
    "groups": "kafka-consumer-groups.sh --zookeeper localhost:2181 --list",
    "groups, a slip": "kafka-consumer-groups --bootstrap-servr localhost:9092 --list",
    "offsets": "kafka-get-offsets --brokr-list localhost:9092 --topic TOPIC",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
def test_the_line_that_is_suggested_runs(bootstrap: str, line: str) -> None:
    topic = create_topic(bootstrap)
    produce(bootstrap, topic, [b"value"])
    refused = run(line.replace("TOPIC", topic))
    assert refused.returncode == 1
    [suggested] = re.findall(r"Try: (kafka-.*)", refused.stdout + refused.stderr)
    done = run(suggested.replace("localhost:9092", bootstrap))
    assert done.returncode == 0, (suggested, done.stdout, done.stderr)
    assert "ignored" not in done.stderr
    assert "DEPRECATED" not in done.stderr


def test_a_setting_of_producers_is_not_suggested_to_a_consumer(bootstrap: str) -> None:
    line = f"kafka-console-consumer --broker-list {bootstrap} --producer-property acks=all"
    refused = run(line)
    assert refused.returncode == 1
    assert "producer-property is not a recognized option" in refused.stderr
    assert "consumer-property" not in refused.stderr


def run(line: str) -> subprocess.CompletedProcess[str]:
    program, *words = shlex.split(line)
    return subprocess.run(
        [str(OTTLA.with_name(program)), *words],
        input="",
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
