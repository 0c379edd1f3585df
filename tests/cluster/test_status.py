"""`ottla cluster status`: brokers, partitions and the ensemble behind them."""

import re
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


def test_a_dead_broker_is_one_line_of_status_and_doctor(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = create_topic(cluster.bootstrap, partitions=8, replicas=2)
    cluster.wait_until_in_sync(topic, replicas=2)
    controller = cluster.controller()
    [other] = set(cluster.brokers) - {controller}
    cluster.brokers[other].kill()
    ottla = Ottla(cluster.brokers[controller].bootstrap).at_home(monkeypatch)
    gone = f"broker {other} is gone; "
    wait_for(lambda: gone in ottla.run("doctor").out, "the news of its death")
    doctor = ottla.run("doctor")
    assert doctor.code == 1
    assert re.search(rf"{gone}\d+ partitions have fewer replicas", doctor.out)
    assert "warning" not in doctor.out.partition("problems, 0 warnings")[0]
    assert len(doctor.out.splitlines()) < 10, "its partitions are not listed one by one"
    status = ottla.run("cluster", "status")
    assert (status.code, gone in status.out, topic in status.out) == (1, True, False)
    cluster.brokers[other].start()
    wait_for(lambda: ottla.run("doctor").code == 0, "everything well again", 30)
