"""Clusters of real brokers around the session's ZooKeeper."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import no_traceback
from tests.support.cluster import Cluster, MakeCluster, clusters

if TYPE_CHECKING:
    from ottla.node.ensemble import LocalEnsemble


@pytest.fixture
def make_cluster(zookeeper: "LocalEnsemble", tmp_path: Path) -> Iterator[MakeCluster]:
    """Starts clusters of the test's own; none of their brokers may stumble over itself."""
    with clusters(tmp_path, f"{zookeeper.connect}/{uuid.uuid4().hex}") as make:
        made = []

        def remember(*args: int, **settings: Any) -> object:
            made.append(make(*args, **settings))
            return made[-1]

        yield remember  # type: ignore[misc]
    for cluster in made:
        for broker in cluster.brokers.values():
            no_traceback(broker)


@pytest.fixture(scope="module")
def cluster(
    request: pytest.FixtureRequest,
    zookeeper: "LocalEnsemble",
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Cluster]:
    """One cluster for all tests of a module, with its BROKERS and SETTINGS if it has any."""
    count = getattr(request.module, "BROKERS", 3)
    settings = getattr(request.module, "SETTINGS", {})
    directory = tmp_path_factory.mktemp("cluster")
    with clusters(directory, f"{zookeeper.connect}/{uuid.uuid4().hex}") as make:
        made = make(count, **settings)
        yield made
    for broker in made.brokers.values():
        no_traceback(broker)
