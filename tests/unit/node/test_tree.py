"""A broker goes where its data belong, or does not start and says why."""

from collections.abc import Callable
from pathlib import Path

from ottla.node.ensemble import LocalEnsemble, free_ports
from ottla.storage.log_dir import read_properties
from tests.support.broker import OttlaBroker
from tests.support.zookeeper import connect, new_chroot
from tests.unit.cluster.stories import story

from .test_node import refused

Brokers = Callable[..., OttlaBroker]


def cluster(zookeeper: LocalEnsemble, **more: str) -> dict[str, str]:
    return {"zookeeper.connect": zookeeper.connect + new_chroot(), **more}


def properties(directory: Path) -> dict[str, str]:
    return read_properties(str(directory / "meta.properties"))


def test_a_broker_keeps_its_generated_id_and_its_cluster(
    own_broker: Brokers, zookeeper: LocalEnsemble
) -> None:
    settings = cluster(zookeeper)
    broker = own_broker(settings)
    first = properties(broker.data_dir)
    assert (broker.broker_id, first["node.id"], first["ottla.engine"]) == (
        1001,
        "1001",
        "zookeeper",
    )
    broker.restart()
    assert broker.broker_id == 1001
    another = own_broker(settings)
    assert another.broker_id == 1002
    assert properties(another.data_dir)["cluster.id"] == first["cluster.id"]


def test_a_killed_broker_takes_its_place_again_at_once(
    own_broker: Brokers, zookeeper: LocalEnsemble
) -> None:
    broker = own_broker(cluster(zookeeper, **{"broker.id": "7"}))
    for _ in range(2):
        broker.kill()
        broker.start()
    assert broker.broker_id == 7
    assert broker.start_seconds < 10, "it did not wait for the session of its last life"


def test_two_brokers_of_one_id_do_not_run_side_by_side(
    own_broker: Brokers, zookeeper: LocalEnsemble, tmp_path: Path
) -> None:
    settings = cluster(zookeeper, **{"broker.id": "3"})
    first = own_broker(settings)
    assert "broker id 3 is registered already" in refused(OttlaBroker(tmp_path / "2", settings))
    assert first.running


def test_data_of_one_engine_are_not_opened_with_the_other(
    own_broker: Brokers, zookeeper: LocalEnsemble
) -> None:
    alone = own_broker()
    alone.stop()
    alone.settings = cluster(zookeeper)
    before = properties(alone.data_dir)
    why = refused(alone)
    assert "belongs to a single broker that keeps its metadata there" in why
    assert f"ottla cluster migrate --data-dir {alone.data_dir} --zookeeper" in why
    assert properties(alone.data_dir) == before
    member = own_broker(cluster(zookeeper))
    member.stop()
    member.settings = {}
    assert "belongs to a cluster whose metadata are in ZooKeeper" in refused(member)


def test_a_broker_of_one_cluster_is_refused_by_another_and_names_no_new_one(
    own_broker: Brokers, zookeeper: LocalEnsemble
) -> None:
    broker, other = own_broker(cluster(zookeeper)), own_broker(cluster(zookeeper))
    broker.stop()
    broker.settings = other.settings
    assert "says cluster.id=" in refused(broker)
    chroot = new_chroot()
    broker.settings = {"zookeeper.connect": zookeeper.connect + chroot}
    assert "the metadata tree it was pointed to is empty" in refused(broker)

    @story
    async def nothing_was_made() -> None:
        tree = await connect(zookeeper.connect, chroot)
        assert await tree.children("/") == []
        await tree.close()

    nothing_was_made()


def test_an_ensemble_that_is_not_there_is_said_in_a_sentence(tmp_path: Path) -> None:
    [port] = free_ports(1)
    settings = {
        "zookeeper.connect": f"127.0.0.1:{port}",
        "zookeeper.connection.timeout.ms": "500",
    }
    sentence = refused(OttlaBroker(tmp_path / "data", settings))
    assert f"ZooKeeper at 127.0.0.1:{port} cannot be reached within 500 ms" in sentence
