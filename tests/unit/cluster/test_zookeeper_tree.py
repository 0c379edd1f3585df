"""ZooKeeper as the tree: sessions that end, connections that break, servers that go and return."""

import asyncio
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from ottla.base.errors import ClusterError
from ottla.cluster.tree import (
    Create,
    NoNode,
    OutcomeUnknown,
    SessionState,
    Set,
    TooLarge,
    TreeEvent,
    TreeUnavailable,
)
from ottla.cluster.zookeeper_tree import ZookeeperOptions, ZookeeperTree, open_tree
from ottla.node.ensemble import LocalEnsemble, free_ports
from tests.support.proxy import proxy
from tests.support.zookeeper import connect, end_session, ensemble, freeze, new_chroot, thaw

from .stories import story, until

CONNECTED, SUSPENDED, LOST = SessionState.CONNECTED, SessionState.SUSPENDED, SessionState.LOST


def states_of(tree: ZookeeperTree) -> list[SessionState]:
    states: list[SessionState] = []
    tree.watch_session(states.append)
    return states


async def until_seen(tree: ZookeeperTree, path: str) -> None:
    """Waits until another session's node shows."""
    async with asyncio.timeout(20):
        while await tree.exists(path) is None:
            await asyncio.sleep(0.005)


@story
async def test_two_clusters_share_an_ensemble_in_chroots_of_their_own(
    zookeeper: LocalEnsemble,
) -> None:
    first = await connect(zookeeper.connect, f"{new_chroot()}/deep/inside")
    second = await connect(zookeeper.connect, new_chroot())
    heard: list[TreeEvent] = []
    second.watch("/", heard.extend)
    await first.create("/a", b"mine")
    await second.create("/b")
    assert (await first.children("/"), await second.children("/")) == (["a"], ["b"])
    assert heard == [TreeEvent("/b")]
    whole = await connect(zookeeper.connect)
    assert "test" in await whole.children("/")
    for tree in (first, second, whole):
        await tree.close()


@story
async def test_a_watch_hears_what_another_session_does(zookeeper: LocalEnsemble) -> None:
    chroot = new_chroot()
    writer, reader = [await connect(zookeeper.connect, chroot) for _ in range(2)]
    heard: list[TreeEvent] = []
    reader.watch("/brokers", heard.extend)
    await writer.multi([Create("/brokers"), Create("/brokers/1", ephemeral=True), Create("/other")])
    await until(lambda: len(heard) == 2, "both events")
    await writer.close()
    await until(lambda: len(heard) == 3, "the end of what was ephemeral")
    assert heard == [TreeEvent("/brokers"), *[TreeEvent("/brokers/1")] * 2]
    await reader.close()


@story
async def test_a_session_that_ends_is_told_and_followed_by_another(
    zookeeper: LocalEnsemble,
) -> None:
    tree = await connect(zookeeper.connect, new_chroot())
    states, first = states_of(tree), tree.session_id
    heard: list[TreeEvent] = []
    tree.watch("/a", heard.extend)
    await tree.create("/dies", ephemeral=True)
    await end_session(tree, zookeeper.connect)
    await until(lambda: tree.state is CONNECTED and tree.session_id != first, "another session")
    assert states[-2:] == [LOST, CONNECTED]
    assert heard == [TreeEvent("/a", subtree=True)], "anything may have changed meanwhile"
    assert await tree.exists("/dies") is None
    await tree.create("/a")
    assert heard[1:] == [TreeEvent("/a")], "the watch goes on"
    await tree.close()


@story
async def test_a_broken_connection_is_taken_up_with_its_session(zookeeper: LocalEnsemble) -> None:
    async with proxy(zookeeper.connect) as between:
        tree = await connect(between.address, new_chroot())
        states, session = states_of(tree), tree.session_id
        await tree.create("/lives", ephemeral=True)
        between.cut()
        await until(lambda: states[-1] is SUSPENDED, "the break")
        with pytest.raises(TreeUnavailable, match="ZooKeeper cannot be reached now"):
            await tree.get("/lives")
        await until(lambda: states[-1] is CONNECTED, "the connection")
        assert states == [CONNECTED, SUSPENDED, CONNECTED]
        assert (await tree.get("/lives"))[1].ephemeral_owner == tree.session_id == session
        await tree.close()


@pytest.mark.parametrize("arrives", [True, False], ids=["arrived", "was lost"])
@story
async def test_after_a_break_in_a_multi_reading_tells_what_became_of_it(
    zookeeper: LocalEnsemble, arrives: bool
) -> None:
    async with proxy(zookeeper.connect) as between:
        tree = await connect(between.address, new_chroot())
        await tree.create("/epoch", b"1")
        between.swallow_answers, between.swallow_requests = arrives, not arrives
        writing = asyncio.ensure_future(
            tree.multi([Set("/epoch", b"2", 0), Create("/mine", ephemeral=True)])
        )
        reading = asyncio.ensure_future(tree.get("/epoch"))
        await until(lambda: between.swallowed_bytes, "the loss")
        between.heal()
        with pytest.raises(OutcomeUnknown, match="may or may not have made a change"):
            await writing
        with pytest.raises(TreeUnavailable):
            await reading
        await until(lambda: tree.state is CONNECTED, "the connection")
        data, stat = await tree.get("/epoch")
        assert (data, stat.version) == ((b"2", 1) if arrives else (b"1", 0))
        mine = await tree.exists("/mine")
        assert (mine is not None and mine.ephemeral_owner == tree.session_id) is arrives
        await tree.close()


@story
async def test_who_is_cut_off_takes_its_session_for_lost_before_the_server_does(
    zookeeper: LocalEnsemble,
) -> None:
    chroot = new_chroot()
    observer = await connect(zookeeper.connect, chroot)
    async with proxy(zookeeper.connect) as between:
        tree = await connect(between.address, chroot, session_timeout_ms=1_500)
        states = states_of(tree)
        await tree.create("/mine", ephemeral=True)
        await until_seen(observer, "/mine")
        at_the_end: list[SessionState] = []
        observer.watch("/mine", lambda events: at_the_end.append(tree.state))
        between.silence()
        await until(lambda: at_the_end, "the end of the session")
        assert at_the_end == [LOST], "it knew before anybody could act on it"
        await until(lambda: states[-1] is LOST, "the word of it")
        between.heal()
        await until(lambda: states[-1] is CONNECTED, "the connection")
        await tree.create("/again", ephemeral=True)
        await tree.close()
    await observer.close()


@story
async def test_the_loop_that_stalls_keeps_its_session(zookeeper: LocalEnsemble) -> None:
    tree = await connect(zookeeper.connect, new_chroot(), session_timeout_ms=2_000)
    states = states_of(tree)
    signal.sigtimedwait([], 2.5)  # as recovery of many logs would
    await tree.create("/a", ephemeral=True)
    assert states == [CONNECTED]
    await tree.close()


@story
async def test_zookeeper_goes_away_and_comes_back(tmp_path: Path) -> None:
    with ensemble(tmp_path) as local:
        tree = await connect(local.connect, "/chroot", session_timeout_ms=2_000)
        states, first = states_of(tree), tree.session_id
        await tree.multi([Create("/stays"), Create("/dies", ephemeral=True)])
        [server] = local.servers
        server.kill()
        await until(lambda: states[-1] is LOST, "the loss")
        with pytest.raises(TreeUnavailable):
            await tree.create("/nothing")
        await asyncio.to_thread(local.launch, server)
        await until(lambda: states[-1] is CONNECTED, "its return")
        assert states == [CONNECTED, SUSPENDED, LOST, CONNECTED]
        assert await tree.exists("/stays")
        with suppress(NoNode):  # a server counts time anew when it starts
            assert (await tree.get("/dies"))[1].ephemeral_owner == first
        await tree.close()


@story
async def test_a_server_that_hangs_delays_no_farewell(tmp_path: Path) -> None:
    with ensemble(tmp_path) as local:
        tree = await connect(local.connect, session_timeout_ms=20_000)
        freeze(local.servers[0])
        writing = asyncio.ensure_future(tree.create("/a"))
        await asyncio.sleep(0)
        async with asyncio.timeout(10):
            await tree.close()
            with pytest.raises(OutcomeUnknown):
                await writing
        thaw(local.servers[0])


@story
async def test_an_ensemble_outlives_its_leader_and_so_do_sessions(tmp_path: Path) -> None:
    with ensemble(tmp_path, 3) as local:
        tree = await connect(local.connect, "/chroot", session_timeout_ms=10_000)
        session = tree.session_id
        await tree.create("/mine", ephemeral=True)
        leader = await asyncio.to_thread(lambda: local.leader)
        leader.kill()
        made = False
        async with asyncio.timeout(30):
            while not made:
                with suppress(TreeUnavailable, OutcomeUnknown):
                    made = bool(await tree.exists("/after")) or bool(await tree.create("/after"))
                await asyncio.sleep(0.02)
        assert (await tree.get("/mine"))[1].ephemeral_owner == tree.session_id == session
        await tree.close()


@story
async def test_what_is_too_large_for_one_step_is_refused_before_it_is_sent(
    zookeeper: LocalEnsemble,
) -> None:
    tree = await connect(zookeeper.connect, new_chroot())
    states = states_of(tree)
    with pytest.raises(TooLarge, match="more than ZooKeeper takes in one step"):
        await tree.create("/a", b"x" * 1_100_000)
    with pytest.raises(TooLarge):
        await tree.multi([Create(f"/{n}", b"x" * 100_000) for n in range(11)])
    await tree.create("/a", b"x" * 990_000)
    await tree.multi([Create(f"/{n}", b"x" * 98_000) for n in range(10)])
    assert states == [CONNECTED]
    await tree.close()


@story
async def test_a_large_tree_is_read_in_moments(zookeeper: LocalEnsemble) -> None:
    tree = await connect(zookeeper.connect, new_chroot())
    await tree.create("/t")
    for start in range(0, 10_000, 2_500):
        await tree.multi([Create(f"/t/{n}", b"x" * 100) for n in range(start, start + 2_500)])
    async with asyncio.timeout(5):  # measured 0.1 s; one by one they would take 3 s
        found = await tree.get_many([f"/t/{n}" for n in range(10_000)])
    assert len(found) == len(await tree.children("/t")) == 10_000
    assert None not in found
    await tree.close()


@story
async def test_nodes_of_those_with_credentials_are_closed_to_others(
    zookeeper: LocalEnsemble,
) -> None:
    chroot = new_chroot()
    options = ZookeeperOptions(zookeeper.connect, chroot, auth=("digest", "u:p"), set_acl=True)
    owner = await open_tree(options)
    await owner.create("/config/users", b"secret", make_parents=True)
    await owner.create("/brokers", b"public")
    stranger = await connect(zookeeper.connect, chroot)
    assert (await stranger.get("/brokers"))[0] == b"public"
    with pytest.raises(ClusterError, match="/config/users: ZooKeeper does not let this broker"):
        await stranger.get("/config/users")
    with pytest.raises(ClusterError, match=r"/brokers/1: .*ottla\.zookeeper\.auth"):
        await stranger.create("/brokers/1")
    await owner.create("/brokers/1")
    await owner.close()
    await stranger.close()


@story
async def test_nobody_there_is_said_in_a_sentence_within_the_time_given() -> None:
    [port] = free_ports(1)
    options = ZookeeperOptions(f"127.0.0.1:{port}", connection_timeout_ms=300)
    with pytest.raises(ClusterError, match=rf"127.0.0.1:{port} cannot be reached within 300 ms"):
        await open_tree(options)
    nowhere = options._replace(hosts="zookeeper.invalid:2181")
    with pytest.raises(ClusterError, match=r"Cannot resolve zookeeper\.invalid.*zookeeper.connect"):
        await open_tree(nowhere)
