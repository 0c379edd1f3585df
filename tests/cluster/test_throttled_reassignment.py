"""kafka-reassign-partitions: a throttled move is slow, holds nobody up, and can be hurried or cancelled."""

import json
import time
from pathlib import Path

import pytest

from ottla.cli.kafka.reassign_partitions import main
from ottla.client.administration.configs import (
    AlterOperation,
    ConfigChange,
    ConfigResource,
    ResourceType,
)
from ottla.client.sync_admin import SyncAdmin
from tests.cluster.load import Load
from tests.cluster.test_reassignment import move, replicas, wait_until_moved
from tests.support.clients import create_topic, produce
from tests.support.cluster import Cluster
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.compat, pytest.mark.java]

HELD_BYTES = 4_000_000
RATE = 400_000
"""Bytes a second: the first fetch takes what it likes, and the rest would take ten seconds."""


class Tool:
    """kafka-reassign-partitions for the partition of one topic."""

    def __init__(
        self, cluster: Cluster, topic: str, directory: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._cluster = cluster
        self._topic = topic
        self._file = directory / "moves.json"
        self._capsys = capsys

    def run(self, target: list[int], *options: str, code: int = 0) -> str:
        move = {"topic": self._topic, "partition": 0, "replicas": target}
        self._file.write_text(json.dumps({"version": 1, "partitions": [move]}))
        words = ["--bootstrap-server", self._cluster.bootstrap, *options]
        self._capsys.readouterr()
        assert main([*words, "--reassignment-json-file", str(self._file)]) == code
        return "".join(self._capsys.readouterr())

    def throttles(self) -> dict[str, str | None]:
        """Throttles that are set now, of the topic and of all brokers."""
        resources = [ConfigResource(ResourceType.TOPIC, self._topic)]
        resources += [ConfigResource(ResourceType.BROKER, str(n)) for n in self._cluster.brokers]
        with SyncAdmin({"bootstrap.servers": self._cluster.bootstrap}) as admin:
            described = admin.describe_configs(resources)
        return {
            f"{resource.name} {entry.name}": entry.value
            for resource, entries in described.items()
            for entry in entries.values()
            if ".throttled." in entry.name and not entry.is_default
        }


def filled_topic(cluster: Cluster) -> tuple[str, list[int], int]:
    """A topic with more than can be moved at once at that rate, the two brokers that hold it, and the third."""
    topic = create_topic(cluster.bootstrap, replicas=2, min_insync_replicas=2)
    produce(cluster.bootstrap, topic, [b"x" * 10_000] * (HELD_BYTES // 10_000), acks="all")
    [held] = replicas(cluster, topic)
    [other] = set(cluster.brokers) - set(held)
    return topic, held, other


@pytest.mark.alone
def test_a_throttled_move_is_slow_until_it_is_hurried(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic, [stays, leaves], comes = filled_topic(cluster)
    tool = Tool(cluster, topic, tmp_path, capsys)
    load = Load(cluster.bootstrap, topic)
    wait_for(lambda: load.run(0.1) or load.acked, "a first acknowledgement")
    target, began = [stays, comes], time.monotonic()
    said = tool.run(target, "--execute", "--throttle", str(RATE))
    assert f"The inter-broker throttle limit was set to {RATE} B/s" in said
    throttles = tool.throttles()
    assert throttles[f"{topic} leader.replication.throttled.replicas"] == f"0:{stays},0:{leaves}"
    assert throttles[f"{topic} follower.replication.throttled.replicas"] == f"0:{comes}"
    assert throttles[f"{comes} follower.replication.throttled.rate"] == str(RATE)
    load.run(2)
    assert load.longest_gap_after(began) < 1.5, "replicas in sync are never held back"
    assert "is still in progress" in tool.run(target, "--verify")
    assert tool.throttles() == throttles
    assert "there is an existing partition assignment" in tool.run(target, "--execute", code=1)
    tool.run(target, "--execute", "--additional", "--throttle", "1000000000")
    wait_until_moved(cluster, topic, target)
    assert "is completed" in tool.run(target, "--verify")
    assert tool.throttles() == {}
    load.finish()


def test_a_throttled_move_is_cancelled(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic, held, comes = filled_topic(cluster)
    tool = Tool(cluster, topic, tmp_path, capsys)
    target = [held[0], comes]
    tool.run(target, "--execute", "--throttle", str(RATE))
    said = tool.run(target, "--cancel")
    assert f"Successfully cancelled partition reassignment for: {topic}-0\n" in said
    assert (replicas(cluster, topic), tool.throttles()) == ([held], {})
    assert "None of the specified partition reassignments are active" in tool.run(
        target, "--cancel"
    )


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_either_side_alone_holds_a_replica_back(cluster: Cluster, side: str) -> None:
    topic, [stays, _], comes = filled_topic(cluster)
    throttled = {
        ConfigResource(ResourceType.TOPIC, topic): (f"{side}.replication.throttled.replicas", "*"),
        ConfigResource(ResourceType.BROKER, ""): (f"{side}.replication.throttled.rate", str(RATE)),
    }
    with SyncAdmin({"bootstrap.servers": cluster.bootstrap}) as admin:
        assert not any(
            admin.alter_configs({at: [ConfigChange(*to)] for at, to in throttled.items()}).values()
        )
        move(cluster, topic, [stays, comes])
        began = time.monotonic()
        wait_for(lambda: time.monotonic() - began > 1.5 or not moving(admin), "some time")
        assert moving(admin), "four megabytes do not come in a second at that rate"
        lifted = {
            at: [ConfigChange(name, None, AlterOperation.DELETE)]
            for at, (name, _) in throttled.items()
        }
        assert not any(admin.alter_configs(lifted).values())
    wait_until_moved(cluster, topic, [stays, comes])


def moving(admin: SyncAdmin) -> bool:
    return bool(admin.list_partition_reassignments())
