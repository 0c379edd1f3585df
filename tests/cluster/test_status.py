"""`ottla cluster status`: brokers, partitions and the ensemble behind them."""

from typing import TYPE_CHECKING

import pytest

from tests.support.clients import create_topic
from tests.support.cluster import Cluster
from tests.support.ottla_cli import Ottla
from tests.support.waiting import wait_for

if TYPE_CHECKING:
    from ottla.node.ensemble import LocalEnsemble

pytestmark = [pytest.mark.compat, pytest.mark.java]

BROKERS = 2


def test_the_ensemble_is_part_of_the_picture(
    cluster: Cluster, zookeeper: "LocalEnsemble", monkeypatch: pytest.MonkeyPatch
) -> None:
    create_topic(cluster.bootstrap, replicas=2)

    ottla = Ottla(cluster.bootstrap).at_home(monkeypatch)
    wait_for(lambda: ottla.run("cluster", "status").code == 0, "a healthy cluster")
    found = ottla.json("cluster", "status")
    assert len(found["members"]) == 2
    [server] = found["ensemble"]
    assert server["zookeeper"] == zookeeper.connect
    assert (server["mode"], server["error"]) == ("standalone", None)
    assert "1 of 1 serve" in ottla.ok("cluster", "status")
