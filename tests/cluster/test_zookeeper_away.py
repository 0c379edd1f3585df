"""The only ZooKeeper hangs, or dies, under load: leaders go on, and everything resumes by itself when it is back."""

import time
from collections.abc import Iterator

import pytest

from ottla.node.ensemble import LocalEnsemble
from tests.cluster.load import Load
from tests.conftest import no_traceback
from tests.support.clients import consume, create_topic
from tests.support.cluster import Cluster, clusters
from tests.support.waiting import wait_for
from tests.support.zookeeper import ensemble, freeze, thaw

pytestmark = [pytest.mark.compat, pytest.mark.java]

SESSION_S = 2
LONGER_THAN_THE_SESSION_S = 3.0
LONGEST_GAP_S = 1.5


@pytest.fixture(scope="module")
def keeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEnsemble]:
    """A ZooKeeper that no other test needs."""
    with ensemble(tmp_path_factory.mktemp("keeper")) as local:
        yield local


@pytest.fixture(scope="module")
def cluster(keeper: LocalEnsemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three brokers around it."""
    with clusters(tmp_path_factory.mktemp("away"), f"{keeper.connect}/away") as make:
        made = make(zookeeper_session_timeout_ms=str(SESSION_S * 1000))
        yield made
    for broker in made.brokers.values():
        no_traceback(broker)


def running_load(cluster: Cluster) -> Load:
    load = Load(cluster.bootstrap, create_topic(cluster.bootstrap, partitions=3, replicas=3))
    wait_for(lambda: load.run(0.1) or load.acked, "a first acknowledgement")
    return load


def everything_works(cluster: Cluster, load: Load, replicas: int = 3) -> None:
    """All that was sent is acknowledged and there, once, and the cluster can be changed again."""
    load.finish()
    cluster.wait_until_in_sync(load.topic, replicas)
    load.check(cluster)
    create_topic(cluster.bootstrap, replicas=2)


@pytest.mark.alone
def test_a_zookeeper_that_hangs_for_a_second_is_not_noticed(
    cluster: Cluster, keeper: LocalEnsemble
) -> None:
    load = running_load(cluster)
    freeze(keeper.servers[0])
    hung = time.monotonic()
    load.run(1)
    thaw(keeper.servers[0])
    load.run(1)
    assert load.longest_gap_after(hung) < LONGEST_GAP_S
    everything_works(cluster, load)


@pytest.mark.alone
def test_leaders_go_on_when_zookeeper_is_dead_for_longer_than_their_sessions(
    cluster: Cluster, keeper: LocalEnsemble
) -> None:
    [server] = keeper.servers
    load = running_load(cluster)
    server.kill()
    died = time.monotonic()
    load.run(LONGER_THAN_THE_SESSION_S)
    assert load.longest_gap_after(died) < LONGEST_GAP_S
    assert consume(cluster.bootstrap, load.topic, 0)
    keeper.launch(server)
    wait_for(lambda: load.run(0.1) or server.mode(), "ZooKeeper to be back", 30)
    load.run(1)
    everything_works(cluster, load)


def test_nothing_is_promised_that_too_few_hold_while_nobody_can_leave_the_isr(
    cluster: Cluster, keeper: LocalEnsemble
) -> None:
    """Without a tree the ISR stays as it is: a follower that dies holds everybody up until it can leave."""
    load = running_load(cluster)
    freeze(keeper.servers[0])
    died = cluster.brokers[2]
    died.kill()
    load.run(0.5)
    promised = len(load.acked)
    load.run(LONGER_THAN_THE_SESSION_S)
    assert len(load.acked) == promised
    thaw(keeper.servers[0])
    everything_works(cluster, load, replicas=2)
    died.start()
    cluster.wait_until_in_sync(load.topic)
