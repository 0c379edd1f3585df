"""A broker takes its place in the tree, once for each of its lives, and nobody else's."""

from contextlib import AsyncExitStack

import pytest

from ottla.base.errors import ClusterError
from ottla.base.ids import parse_id
from ottla.cluster.metadata import Metadata
from ottla.cluster.registration import (
    NOT_CLEAN,
    Proof,
    ensure_cluster_id,
    generate_broker_id,
    register_broker,
)
from ottla.cluster.tree import Create, Delete, Set, Tree
from ottla.cluster.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    SKELETON,
    BrokerNode,
    Endpoint,
    broker_path,
    decode_incarnation,
    incarnation_path,
)
from ottla.node.ensemble import LocalEnsemble
from tests.support.zookeeper import connect, new_chroot

from .engines import Engine
from .stories import story

NODE = BrokerNode((Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092),), "rack", 1)


@story
async def test_each_life_of_a_broker_has_a_greater_epoch_and_incarnation(engine: Engine) -> None:
    seen = []
    for _ in range(3):
        tree = await engine.open()
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
async def test_who_asks_again_gets_the_registration_that_its_session_has(engine: Engine) -> None:
    tree = await engine.open()
    await _skeleton(tree)
    first = await register_broker(tree, 1, NODE, ["mine"])
    assert await register_broker(tree, 1, NODE, ["mine"]) == first
    await tree.close()


@story
async def test_an_id_that_another_broker_has_is_refused_and_nothing_changes(
    zookeeper: LocalEnsemble,
) -> None:
    async with AsyncExitStack() as stack:
        first, second = await _two(stack, zookeeper)
        registered = await register_broker(first, 1, NODE, ["here"])
        before = await second.get(broker_path(1))
        with pytest.raises(ClusterError, match=r"broker id 1 is registered already, by .*:9092"):
            await register_broker(second, 1, NODE, ["there"])
        assert await second.get(broker_path(1)) == before
        [marker] = await second.get_many([incarnation_path(1)])
        assert marker is not None
        assert decode_incarnation(incarnation_path(1), marker[0]).directories == ("here",)
        assert marker[1].version == registered.incarnation


@story
async def test_a_broker_that_holds_its_directory_replaces_what_its_last_life_left(
    zookeeper: LocalEnsemble,
) -> None:
    async with AsyncExitStack() as stack:
        dead, reborn = await _two(stack, zookeeper)
        before = await register_broker(dead, 1, NODE, ["a", "b"])
        await dead.multi([Create(CONTROLLER_EPOCH, b"1"), Create(CONTROLLER, ephemeral=True)])
        after = await register_broker(reborn, 1, NODE, ["b", "c"])
        assert after.broker_epoch > before.broker_epoch
        assert after.incarnation == before.incarnation + 1
        assert (await reborn.get(broker_path(1)))[1].ephemeral_owner == reborn.session_id
        assert await reborn.exists(CONTROLLER) is None, "its rule ended with its last life"


@story
async def test_a_life_goes_on_only_by_proof(engine: Engine) -> None:
    """A process that registers again, or a clean stop of the last registration, and each with the same directories."""
    lives, epochs = [], []
    for directories, process, clean in (
        ("ab", "p1", False),
        ("ab", "p2", False),
        ("ba", "p2", False),
        ("ab", "p3", True),
        ("a", "p3", False),
        ("ab", "p4", True),
        ("ab", "p5", True),
        ("ab", "", False),
        ("ab", "", False),
    ):
        tree = await engine.open()
        await _skeleton_of(tree)
        proof = Proof(process, epochs[-1] if clean else NOT_CLEAN)
        done = await register_broker(tree, 1, NODE, list(directories), proof)
        lives.append(done.life)
        epochs.append(done.broker_epoch)
        await tree.close()
    assert lives == [0, 1, 1, 1, 4, 5, 5, 7, 8], "the count of registrations, where one begins"
    tree = await engine.open()
    old_copy = Proof("p6", epochs[-2])
    assert (await register_broker(tree, 1, NODE, ["a", "b"], old_copy)).life == 9
    await tree.close()


@story
async def test_a_life_is_never_one_that_was_before_whichever_build_registered(
    engine: Engine,
) -> None:
    tree = await engine.open()
    await _skeleton_of(tree)
    first = await register_broker(tree, 1, NODE, ["a"], Proof("p1"))
    _, stat = await tree.get(incarnation_path(1))
    before = b'{"version":1,"timestamp":"1","directories":["a"]}'
    await tree.multi([Set(incarnation_path(1), before, stat.version), Delete(broker_path(1))])
    again = await register_broker(tree, 1, NODE, ["a"], Proof("p1", first.broker_epoch))
    assert again.life == 2
    await tree.close()


@story
async def test_a_session_that_has_other_directories_registers_anew(engine: Engine) -> None:
    """One has failed: the broker goes on with the others, in another life, and is still the controller."""
    tree = await engine.open()
    await _skeleton_of(tree)
    await tree.multi([Create(CONTROLLER_EPOCH, b"1"), Create(CONTROLLER, ephemeral=True)])
    first = await register_broker(tree, 1, NODE, ["a", "b"], Proof("p1"))
    fewer = await register_broker(tree, 1, NODE, ["a"], Proof("p1"))
    assert fewer.broker_epoch > first.broker_epoch
    assert fewer.life != first.life
    assert await tree.exists(CONTROLLER)
    await tree.close()


@story
async def test_a_broker_that_returns_leaves_another_controller_alone(
    zookeeper: LocalEnsemble,
) -> None:
    async with AsyncExitStack() as stack:
        dead, reborn = await _two(stack, zookeeper)
        await register_broker(dead, 1, NODE, ["a"])
        ops = [Create(CONTROLLER_EPOCH, b"1"), Create(CONTROLLER, ephemeral=True)]
        await reborn.multi(ops)
        await register_broker(reborn, 1, NODE, ["a"])
        assert await reborn.exists(CONTROLLER)


@story
async def test_generated_ids_begin_above_those_given_by_hand(engine: Engine) -> None:
    tree = await engine.open()
    assert [await generate_broker_id(tree, 1000) for _ in range(2)] == [1001, 1002]
    await tree.close()


@story
async def test_a_cluster_is_named_once(engine: Engine) -> None:
    names = set()
    for _ in range(2):
        tree = await engine.open()
        names.add(await ensure_cluster_id(tree))
        await tree.close()
    [name] = names
    assert parse_id(name)


@story
async def test_a_broker_of_some_cluster_names_no_other(engine: Engine) -> None:
    tree = await engine.open()
    with pytest.raises(ClusterError, match=r"belong to cluster x, but .* is empty"):
        await ensure_cluster_id(tree, expected="x")
    assert await tree.children("/") == []
    await tree.close()


async def _two(stack: AsyncExitStack, zookeeper: LocalEnsemble) -> list[Tree]:
    chroot = new_chroot()
    trees: list[Tree] = [await connect(zookeeper.connect, chroot) for _ in range(2)]
    for tree in trees:
        stack.push_async_callback(tree.close)
    await _skeleton(trees[0])
    return trees


async def _skeleton(tree: Tree) -> None:
    for path in SKELETON:
        await tree.create(path, make_parents=True)


async def _skeleton_of(tree: Tree) -> None:
    if await tree.exists(SKELETON[0]) is None:
        await _skeleton(tree)
