"""A broker whose registration is gone registers anew, whatever took it away."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ottla.base.errors import ClusterError
from ottla.cluster.presence import Presence
from ottla.cluster.registration import Registration
from ottla.cluster.tree import Delete, Tree
from ottla.cluster.znodes import SKELETON, BrokerNode, Endpoint, broker_path
from ottla.cluster.zookeeper_tree import ZookeeperTree
from ottla.node.ensemble import LocalEnsemble
from tests.support.proxy import proxy
from tests.support.zookeeper import connect, end_session, ensemble, new_chroot

from .engines import Engine
from .stories import story, until

NODE = BrokerNode((Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092),), "rack", 1)


@asynccontextmanager
async def present(tree: Tree, directory: str = "mine") -> AsyncIterator[list[Registration]]:
    """A broker that is looked after; what it is told of its registrations."""
    told: list[Registration] = []

    async def on_registered(registration: Registration) -> None:
        told.append(registration)

    for path in SKELETON:
        if await tree.exists(path) is None:
            await tree.create(path, make_parents=True)
    presence = Presence(tree, 1, lambda: NODE, lambda: [directory], on_registered)
    try:
        await presence.open()
        yield told
    finally:
        await presence.close()


@story
async def test_a_broker_taken_for_dead_comes_back_with_another_epoch(engine: Engine) -> None:
    tree = await engine.open()
    async with present(tree) as told:
        [first] = told
        await tree.multi([Delete(broker_path(1))])  # as the controller does that suspects it
        await until(lambda: len(told) == 2, "another registration")
        assert told[1].broker_epoch > first.broker_epoch
        assert told[1].incarnation == first.incarnation + 1
    await tree.close()


@story
async def test_a_broker_outlives_its_session(zookeeper: LocalEnsemble) -> None:
    tree: ZookeeperTree = await connect(zookeeper.connect, new_chroot())
    async with present(tree) as told:
        await end_session(tree, zookeeper.connect)
        await until(lambda: len(told) == 2, "another registration")
        assert (await tree.get(broker_path(1)))[1].ephemeral_owner == tree.session_id
    await tree.close()


@story
async def test_a_connection_that_breaks_and_is_taken_up_changes_nothing(
    zookeeper: LocalEnsemble,
) -> None:
    async with proxy(zookeeper.connect) as between:
        tree = await connect(between.address, new_chroot())
        async with present(tree) as told:
            _, before = await tree.get(broker_path(1))
            between.cut()
            between.silence()
            await until(lambda: tree.state.value == "suspended", "the break")
            between.heal()
            await until(lambda: tree.state.value == "connected", "the connection")
            assert (await tree.get(broker_path(1)))[1] == before
            assert len(told) == 1
        await tree.close()


@story
async def test_a_session_taken_for_lost_that_goes_on_after_all_is_told_again(
    tmp_path: Path,
) -> None:
    with ensemble(tmp_path) as own:
        [server] = own.servers
        tree = await connect(own.connect, new_chroot(), session_timeout_ms=3000)
        async with present(tree) as told:
            await asyncio.to_thread(server.kill)
            await until(lambda: tree.state.value == "lost", "the session to be given up")
            own.launch(server)
            await until(lambda: len(told) == 2, "the registration to be told again")
            assert told[1] == told[0]
        await tree.close()


@story
async def test_a_second_broker_of_the_same_id_does_not_get_in(zookeeper: LocalEnsemble) -> None:
    chroot = new_chroot()
    first, second = [await connect(zookeeper.connect, chroot) for _ in range(2)]
    async with present(first, "mine"):
        with pytest.raises(ClusterError, match="broker id 1 is registered already"):
            async with present(second, "other"):
                pass
    await first.close()
    async with present(second, "other") as told:
        assert len(told) == 1
    await second.close()
