"""A broker takes its place in the tree, once for each of its lives."""

from pathlib import Path

import pytest

from ottla.base.errors import ClusterError
from ottla.base.ids import parse_id
from ottla.cluster.metadata import Metadata
from ottla.cluster.registration import ensure_cluster_id, generate_broker_id, register_broker
from ottla.cluster.sqlite_tree import open_tree
from ottla.cluster.znodes import BrokerNode, Endpoint

from .stories import story

NODE = BrokerNode((Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092),), "rack", 1)


@story
async def test_each_life_of_a_broker_has_a_greater_epoch_and_incarnation(tmp_path: Path) -> None:
    seen = []
    for _ in range(3):
        tree = open_tree(tmp_path / "tree")
        metadata = Metadata(tree)
        await metadata.open()
        assert not metadata.image.brokers, "the last life's registration died with it"
        seen.append(await register_broker(tree, 1, NODE))
        await metadata.caught_up()
        assert metadata.image.brokers[1].epoch == seen[-1].broker_epoch
        assert metadata.image.brokers[1].rack == "rack"
        await metadata.close()
        await tree.close()
    assert [registration.incarnation for registration in seen] == [0, 1, 2]
    epochs = [registration.broker_epoch for registration in seen]
    assert epochs == sorted(set(epochs))


@story
async def test_an_id_that_is_taken_is_refused(tmp_path: Path) -> None:
    tree = open_tree(tmp_path / "tree")
    metadata = Metadata(tree)
    await metadata.open()
    await register_broker(tree, 1, NODE)
    with pytest.raises(ClusterError, match="broker id 1 is registered already"):
        await register_broker(tree, 1, NODE)
    assert [await generate_broker_id(tree, 1000) for _ in range(2)] == [1001, 1002]
    await metadata.close()
    await tree.close()


@story
async def test_a_cluster_is_named_once(tmp_path: Path) -> None:
    names = set()
    for _ in range(2):
        tree = open_tree(tmp_path / "tree")
        names.add(await ensure_cluster_id(tree))
        await tree.close()
    [name] = names
    assert parse_id(name)
