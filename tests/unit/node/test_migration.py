"""A single broker's metadata move to ZooKeeper whole, or not at all, and the refusal says why."""

from pathlib import Path

import pytest

from ottla.base.errors import ConfigError
from ottla.cluster import sqlite_tree, znodes
from ottla.cluster.tree import Create, Tree
from ottla.config.load import load
from ottla.config.table import Settings
from ottla.node.ensemble import LocalEnsemble
from ottla.node.migration import Migrated, MigrationRefused, migrate
from ottla.storage.log_dir import LogDir, read_properties
from tests.support.zookeeper import connect, new_chroot
from tests.unit.cluster.stories import story

TOPICS = [f"topic-{number}" for number in range(600)]


class Stopped:
    """What a stopped broker left behind: two log directories, and the tree in the first."""

    def __init__(self, directory: Path, cluster_id: str = "ours") -> None:
        self.directories = [directory / "a", directory / "b"]
        for each in self.directories:
            log_dir = LogDir(str(each))
            log_dir.acquire()
            log_dir.identify(cluster_id, 1, "embedded")
            log_dir.release()

    async def remember(self, topics: list[str], cluster_id: str = "ours") -> None:
        tree = sqlite_tree.open_tree(self.directories[0] / "metadata.sqlite")
        cluster_node = znodes.encode_cluster_id(cluster_id)
        await tree.create(znodes.CLUSTER_ID, cluster_node, make_parents=True)
        await tree.create(znodes.CONTROLLER, b"me", ephemeral=True)
        await tree.create(znodes.TOPICS, make_parents=True)
        await tree.multi([Create(znodes.topic_path(topic), topic.encode()) for topic in topics])
        await tree.close()

    def settings(self, zookeeper: str) -> Settings:
        dirs = ",".join(map(str, self.directories))
        return load(None, {}, [f"log.dirs={dirs}", f"zookeeper.connect={zookeeper}"])

    @property
    def engines(self) -> list[str]:
        return [read_properties(f"{d}/meta.properties")["ottla.engine"] for d in self.directories]


async def move(stopped: Stopped, zookeeper: str) -> Migrated:
    settings = stopped.settings(zookeeper)
    assert settings.zookeeper.connect is not None
    return await migrate(settings, settings.zookeeper.connect)


async def everything(tree: Tree, path: str = "/") -> dict[str, bytes]:
    found = {path: (await tree.get(path))[0]}
    for name in await tree.children(path):
        found |= await everything(tree, f"{path.rstrip('/')}/{name}")
    return found


@story
async def test_all_nodes_but_the_ephemeral_are_copied(
    zookeeper: LocalEnsemble, tmp_path: Path
) -> None:
    stopped, chroot = Stopped(tmp_path), new_chroot()
    await stopped.remember(TOPICS)
    done = await move(stopped, zookeeper.connect + chroot)
    target = await connect(zookeeper.connect, chroot)
    found = await everything(target)
    await target.close()
    assert (done.cluster_id, done.node_id, done.nodes) == ("ours", "1", len(found) - 1)
    assert {f"/brokers/topics/{topic}" for topic in TOPICS} < set(found)
    assert znodes.CONTROLLER not in found
    assert stopped.engines == ["zookeeper"] * 2
    assert (await move(stopped, zookeeper.connect + chroot)).nodes == 0, "once is enough"


@story
async def test_a_migration_that_was_interrupted_begins_anew(
    zookeeper: LocalEnsemble, tmp_path: Path
) -> None:
    stopped, chroot = Stopped(tmp_path), new_chroot()
    await stopped.remember(["orders"])
    target = await connect(zookeeper.connect, chroot)
    await target.create("/migration", znodes.encode_cluster_id("ours"))
    await target.create(znodes.topic_path("deleted-since"), make_parents=True)
    await move(stopped, zookeeper.connect + chroot)
    assert await target.children("/") == ["brokers", "cluster"]
    assert await target.children(znodes.TOPICS) == ["orders"]
    await target.close()


@story
async def test_a_chroot_that_is_not_empty_is_refused(
    zookeeper: LocalEnsemble, tmp_path: Path
) -> None:
    stopped, chroot = Stopped(tmp_path), new_chroot()
    await stopped.remember(["orders"])
    target = await connect(zookeeper.connect, chroot)
    await target.create("/something")
    with pytest.raises(MigrationRefused, match="is not empty: it holds something"):
        await move(stopped, zookeeper.connect + chroot)
    await target.create(znodes.CLUSTER_ID, znodes.encode_cluster_id("theirs"), make_parents=True)
    with pytest.raises(MigrationRefused, match="cluster theirs, and the broker to cluster ours"):
        await move(stopped, zookeeper.connect + chroot)
    assert await target.children("/") == ["cluster", "something"]
    await target.close()
    assert stopped.engines == ["embedded"] * 2


@story
async def test_a_broker_that_runs_is_left_alone(zookeeper: LocalEnsemble, tmp_path: Path) -> None:
    stopped = Stopped(tmp_path)
    await stopped.remember([])
    running = LogDir(str(stopped.directories[1]))
    running.acquire()
    with pytest.raises(ConfigError, match=r"another broker holds its \.lock; stop it"):
        await move(stopped, zookeeper.connect + new_chroot())
    running.release()


@story
async def test_data_that_do_not_belong_together_are_refused(
    zookeeper: LocalEnsemble, tmp_path: Path
) -> None:
    place = zookeeper.connect + new_chroot()
    torn = Stopped(tmp_path / "torn")
    await torn.remember([], cluster_id="another")
    with pytest.raises(MigrationRefused, match=r"metadata\.sqlite is that of cluster another"):
        await move(torn, place)
    mixed = Stopped(tmp_path / "mixed")
    mixed.directories[1] = Stopped(tmp_path / "other", "theirs").directories[1]
    with pytest.raises(MigrationRefused, match="different clusters: ours, theirs"):
        await move(mixed, place)
    with pytest.raises(MigrationRefused, match=r"metadata\.sqlite does not exist"):
        await move(Stopped(tmp_path / "bare"), place)
