"""A whole site goes down: who waits for whom, what an operator is told, and how a loss is accepted."""

import json
import shutil
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.support.clients import create_topic
from tests.support.cluster import Cluster, MakeCluster
from tests.support.ottla_cli import Ottla
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.compat, pytest.mark.java]

RECORDS = 50


def write(cluster: Cluster, topic: str) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0})
    for number in range(RECORDS):
        producer.produce(topic, b"%d" % number)
    assert producer.flush(20) == 0


def status(ottla: Ottla) -> dict[str, Any]:
    """What `ottla cluster status` says of a cluster that is not well."""
    found: dict[str, Any] = json.loads(ottla.run("cluster", "status", "-o", "json").out)
    return found


def test_the_first_ones_back_wait_for_the_one_that_has_it_all(
    make_cluster: MakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = make_cluster(zookeeper_session_timeout_ms="3000")
    topic = create_topic(cluster.bootstrap, replicas=3)
    write(cluster, topic)
    cluster.kill()
    first, second, third = cluster.brokers.values()
    for damaged in (first, second):
        shutil.rmtree(damaged.data_dir)
        damaged.start()  # within the session of the one before it: it waits for its end
    ottla = Ottla(first.bootstrap).at_home(monkeypatch)
    wait_for(lambda: status(ottla)["leaderless"] == 1, "nobody to lead", 20)
    assert status(ottla)["unwell"][0]["waits_for"] == [3]
    said = ottla.run("doctor").out
    assert "waits for broker 3, which may hold records that are nowhere else" in said
    rows = ottla.json("partitions", "elect", "--unclean", "--dry-run")
    assert [
        (row["broker"], row["present"], row["end"])
        for row in sorted(rows, key=lambda r: r["broker"])
    ] == [
        (1, True, 0),
        (2, True, 0),
        (3, False, "unknown"),
    ]
    third.start()
    assert cluster.leader(topic) == 3
    cluster.wait_until_in_sync(topic)
    cluster.kill()
    first.start()
    wait_for(lambda: status(ottla)["leaderless"] == 1, "nobody to lead", 20)
    refused = ottla.run("partitions", "elect", "--unclean")
    assert (refused.code, "nothing is done without --yes" in refused.err) == (1, True)
    assert "a leader was elected" in ottla.ok("partitions", "elect", "--unclean", "--yes")
    assert cluster.leader(topic) == 1
