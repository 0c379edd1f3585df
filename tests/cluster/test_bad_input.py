"""What cannot be is refused in a sentence, and nothing has changed: not the cluster, not the directory of who asked."""

import asyncio
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.client.administration.topics import NewTopic
from ottla.client.sync_admin import SyncAdmin
from ottla.cluster import znodes
from ottla.node.ensemble import LocalEnsemble
from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.support.clients import create_topic
from tests.support.cluster import Cluster
from tests.support.zookeeper import connect, new_chroot
from tests.unit.node.test_node import refused

pytestmark = [pytest.mark.compat, pytest.mark.java]

BROKERS = 2

Tree = dict[str, tuple[bytes, int]]


@pytest.fixture(scope="module")
def topic(cluster: Cluster) -> str:
    return create_topic(cluster.bootstrap, replicas=2)


def connect_of(cluster: Cluster) -> str:
    return cluster.brokers[1].settings["zookeeper.connect"]


def tree_of(cluster: Cluster) -> Tree:
    """All that the cluster keeps in ZooKeeper, with versions."""
    hosts, _, chroot = connect_of(cluster).partition("/")

    async def read() -> Tree:
        tree = await connect(hosts, f"/{chroot}")
        found, left = {}, ["/"]
        while left:
            path = left.pop()
            data, stat = await tree.get(path)
            found[path] = data, stat.version
            left += [f"{path.rstrip('/')}/{child}" for child in await tree.children(path)]
        await tree.close()
        return found

    return asyncio.run(read())


def files(directory: Path) -> dict[str, bytes]:
    """All files of a directory but its lock."""
    found = (path for path in directory.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


def test_a_broker_id_that_is_taken(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    before = tree_of(cluster)
    twin = OttlaBroker(tmp_path / "twin", cluster.brokers[1].settings)
    said = refused(twin)
    assert (
        f"broker id 1 is registered already, by the broker at {cluster.brokers[1].bootstrap}"
        in (said)
    )
    assert tree_of(cluster) == before
    assert files(twin.data_dir) == {}, "with another id it may start from there"


def test_a_chroot_at_which_another_kind_of_cluster_lives(
    zookeeper: LocalEnsemble, tmp_path: Path
) -> None:
    """As with one of Apache Kafka's, which count no incarnations."""
    chroot = new_chroot()
    client = KazooClient(zookeeper.connect)
    client.start()
    client.create(chroot + znodes.CLUSTER_ID, b'{"version":"1","id":"x"}', makepath=True)
    client.create(chroot + znodes.broker_path(1), b"{}", ephemeral=True, makepath=True)
    broker = OttlaBroker(
        tmp_path / "2", {"zookeeper.connect": zookeeper.connect + chroot, "broker.id": "2"}
    )
    said = refused(broker)
    left = client.get_children(chroot), client.get_children(f"{chroot}/brokers")
    client.stop()
    client.close()
    assert "(1) belong to another kind of cluster; give each cluster a chroot of its own" in said
    assert (left, files(broker.data_dir)) == ((["cluster", "brokers"], ["ids"]), {})


def test_a_broker_with_the_data_of_another_cluster(
    cluster: Cluster, zookeeper: LocalEnsemble, tmp_path: Path
) -> None:
    settings = {"zookeeper.connect": zookeeper.connect + new_chroot(), "broker.id": "3"}
    stranger = OttlaBroker(tmp_path / "stranger", settings).start()
    stranger.stop()
    data, tree = files(stranger.data_dir), tree_of(cluster)
    stranger.settings = {**settings, "zookeeper.connect": connect_of(cluster)}
    assert "its meta.properties says cluster.id=" in refused(stranger)
    assert (files(stranger.data_dir), tree_of(cluster)) == (data, tree)


@pytest.mark.parametrize("place", ["no such host", "a broker"])
def test_a_zookeeper_that_is_elsewhere(cluster: Cluster, tmp_path: Path, place: str) -> None:
    address = {
        "no such host": "zookeeper.invalid:2181",
        "a broker": f"127.0.0.1:{cluster.brokers[1].port}",
    }[place]
    settings = {"zookeeper.connect": address, "zookeeper.connection.timeout.ms": "700"}
    broker = OttlaBroker(tmp_path / "lost", settings)
    said = refused(broker)
    assert f"ZooKeeper at {address} cannot be reached within 700 ms" in said
    assert "check zookeeper.connect, and that the servers run" in said
    assert files(broker.data_dir) == {}


def test_a_zookeeper_whose_acl_says_no(zookeeper: LocalEnsemble, tmp_path: Path) -> None:
    chroot = new_chroot()
    owner = KazooClient(zookeeper.connect, auth_data=[("digest", "owner:secret")])
    owner.start()
    owner.create(chroot, acl=[make_digest_acl("owner", "secret", all=True)], makepath=True)
    settings = {
        "zookeeper.connect": zookeeper.connect + chroot,
        "ottla.zookeeper.auth": "digest:owner:guess",
    }
    broker = OttlaBroker(tmp_path / "data", settings)
    said = refused(broker)
    left = owner.get_children(chroot)
    owner.stop()
    owner.close()
    assert f"its ACL does not let this broker use {chroot}" in said
    assert "ottla.zookeeper.auth" in said
    assert "guess" not in said
    assert (left, files(broker.data_dir)) == ([], {})


IMPOSSIBLE = {
    "a broker that is not there": ([1, 9], "[9]"),
    "a broker twice": ([1, 1], "each broker once"),
    "nowhere": ([], "needs replicas"),
    "a negative broker": ([1, -2], "[-2]"),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_an_impossible_reassignment(cluster: Cluster, topic: str, case: str) -> None:
    before = tree_of(cluster)
    target, why = IMPOSSIBLE[case]
    with SyncAdmin({"bootstrap.servers": cluster.bootstrap}) as admin:
        tp = TopicPartition(topic, 0)
        refusal = admin.alter_partition_reassignments({tp: target})[tp]
        assert isinstance(refusal, ApiError)
        assert refusal.code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert why in refusal.message
        assert admin.list_partition_reassignments() == {}
    assert tree_of(cluster) == before


def test_reassigning_or_cancelling_what_does_not_exist(cluster: Cluster, topic: str) -> None:
    before = tree_of(cluster)
    still, none, unknown = (
        TopicPartition(topic, 0),
        TopicPartition(topic, 7),
        TopicPartition("no-such-topic", 0),
    )
    with SyncAdmin({"bootstrap.servers": cluster.bootstrap}) as admin:
        answers = admin.alter_partition_reassignments({still: None, none: [1], unknown: [1]})
    codes = {tp: answer and answer.code for tp, answer in answers.items()}
    assert codes == {
        still: ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
        none: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        unknown: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert tree_of(cluster) == before


def test_more_replicas_than_brokers(cluster: Cluster) -> None:
    before = tree_of(cluster)
    with SyncAdmin({"bootstrap.servers": cluster.bootstrap}) as admin:
        [refusal] = admin.try_to_create_topics([NewTopic("wide", 1, 3)]).values()
    assert isinstance(refusal, ApiError)
    assert refusal.code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert "cannot be reached because only 2 broker(s) are registered" in refusal.message
    assert tree_of(cluster) == before
