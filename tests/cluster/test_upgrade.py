"""A rolling upgrade from the previous commit, and back again: nobody who writes sees it."""

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.cluster.load import Load
from tests.support.clients import create_topic
from tests.support.cluster import Cluster, MakeCluster

pytestmark = [pytest.mark.compat, pytest.mark.java]

ROOT = Path(__file__).parents[2]


@pytest.fixture
def previous(tmp_path: Path) -> Path:
    """The package as it was in the commit before this one."""
    asked = subprocess.run(
        ["git", "archive", "HEAD~1", "src"], cwd=ROOT, capture_output=True, check=False
    )
    if asked.returncode:
        pytest.skip("there is no commit before this one: not a clone, or a shallow one")
    with tarfile.open(fileobj=io.BytesIO(asked.stdout)) as archive:
        archive.extractall(tmp_path / "previous", filter="data")
    return tmp_path / "previous" / "src"


def roll(cluster: Cluster, source: Path | None, load: Load, topic: str) -> None:
    """Every broker stops and comes back with another program, one after the other."""
    for broker in cluster.brokers.values():
        assert broker.stop() == 0
        broker.source = source
        broker.start()
        load.run(0.3)
        cluster.wait_until_in_sync(topic)


def test_a_cluster_is_upgraded_and_downgraded_under_load(
    make_cluster: MakeCluster, previous: Path
) -> None:
    cluster = make_cluster(source=previous)
    topic = create_topic(cluster.bootstrap, partitions=3, replicas=3)
    load = Load(cluster.bootstrap, topic)
    load.run(0.5)
    roll(cluster, None, load, topic)
    roll(cluster, previous, load, topic)
    load.finish()
    load.check(cluster)
