"""What the tree promises, kept by both engines: SQLite, and a real ZooKeeper."""

import asyncio

import pytest

from ottla.cluster.tree import (
    BadVersion,
    Check,
    Create,
    Delete,
    EphemeralParent,
    MultiFailed,
    NodeExists,
    NoNode,
    NotEmpty,
    SessionLost,
    SessionState,
    Set,
    TreeEvent,
)

from .engines import Engine
from .stories import story


@story
async def test_a_node_is_made_set_at_its_version_and_deleted(engine: Engine) -> None:
    tree = await engine.open()
    assert await tree.create("/a", b"one") == "/a"
    data, made = await tree.get("/a")
    assert (data, made.version, made.czxid) == (b"one", 0, made.mzxid)
    stat = await tree.set("/a", b"two", version=0)
    assert (stat.version, stat.czxid) == (1, made.czxid)
    assert stat.mzxid > made.mzxid
    with pytest.raises(BadVersion, match=r"/a: version 0 was expected, .* was found"):
        await tree.set("/a", b"three", version=0)
    with pytest.raises(BadVersion):
        await tree.delete("/a", version=0)
    await tree.delete("/a", version=1)
    assert await tree.exists("/a") is None
    await tree.close()


@story
async def test_each_refusal_has_its_own_error_and_names_the_node(engine: Engine) -> None:
    tree = await engine.open()
    await tree.create("/a/b", make_parents=True)
    for error, path, attempt in [
        (NoNode, "/x", tree.get("/x")),
        (NoNode, "/x", tree.children("/x")),
        (NoNode, "/x", tree.set("/x", b"")),
        (NoNode, "/x", tree.delete("/x")),
        (NoNode, "/x", tree.create("/x/y")),
        (NodeExists, "/a", tree.create("/a")),
        (NodeExists, "/a/b", tree.create("/a/b", make_parents=True)),
        (NotEmpty, "/a", tree.delete("/a")),
    ]:
        with pytest.raises(error) as refusal:
            await attempt
        assert refusal.value.path == path
    await tree.close()


@story
async def test_what_is_no_path_is_refused(engine: Engine) -> None:
    tree = await engine.open()
    for path in ("", "a", "/", "/a/", "//a", "/a/../b", "/a/."):
        with pytest.raises(ValueError, match="is not the path of a node"):
            await tree.create(path)
    with pytest.raises(ValueError, match="is not the path of a node"):
        await tree.delete("/")
    with pytest.raises(ValueError, match="is not the path of a node"):
        await tree.multi([Check("/"), Delete("/")])
    await tree.close()


@story
async def test_many_nodes_are_read_at_once_and_those_missing_are_none(engine: Engine) -> None:
    tree = await engine.open()
    await tree.multi([Create("/t"), *(Create(f"/t/{n}", b"%d" % n) for n in range(1200))])
    found = await tree.get_many([f"/t/{n}" for n in range(1201)])
    assert [node[0] for node in found[:-1] if node] == [b"%d" % n for n in range(1200)]
    assert found[-1] is None
    assert found[7] == await tree.get("/t/7")
    assert await tree.get_many([]) == []
    assert await tree.children("/t") == sorted(map(str, range(1200)))
    await tree.close()


@story
async def test_a_failed_multi_raises_which_operation_failed_and_changes_nothing(
    engine: Engine,
) -> None:
    tree = await engine.open()
    await tree.create("/epoch", b"1")
    heard: list[TreeEvent] = []
    tree.watch("/", heard.extend)
    ops = [
        Check("/epoch", 0),
        Set("/epoch", b"2", 0),
        Create("/a"),
        Check("/epoch", 7),
        Delete("/n"),
    ]
    with pytest.raises(MultiFailed) as failed:
        await tree.multi(ops)
    assert failed.value.index == 3
    assert isinstance(failed.value.error, BadVersion)
    assert await tree.exists("/a") is None
    assert (await tree.get("/epoch"))[0] == b"1"
    assert not heard
    await tree.close()


@pytest.mark.parametrize(
    ("op", "error"),
    [
        (Check("/nowhere"), NoNode),
        (Check("/a", 1), BadVersion),
        (Set("/a", b"", 1), BadVersion),
        (Delete("/a", 1), BadVersion),
        (Delete("/a"), NotEmpty),
        (Create("/a"), NodeExists),
        (Create("/x/y"), NoNode),
        (Create("/ephemeral/child"), EphemeralParent),
    ],
)
@story
async def test_a_multi_fails_for_each_reason_that_a_single_write_has(
    engine: Engine, op: Check | Set | Delete | Create, error: type[Exception]
) -> None:
    tree = await engine.open()
    await tree.multi([Create("/a"), Create("/a/b"), Create("/ephemeral", ephemeral=True)])
    with pytest.raises(MultiFailed) as failed:
        await tree.multi([Check("/a", 0), op])
    assert (failed.value.index, type(failed.value.error)) == (1, error)
    await tree.close()


@story
async def test_a_multi_sees_its_own_operations(engine: Engine) -> None:
    tree = await engine.open()
    ops = [Create("/a"), Create("/a/b"), Set("/a/b", b"x", 0), Delete("/a/b", 1), Delete("/a")]
    assert await tree.multi(ops) == ["/a", "/a/b", "/a/b", "/a/b", "/a"]
    assert await tree.children("/") == []
    assert await tree.multi([]) == []
    await tree.multi([Create("/c"), Check("/c", 0), Check("/c")])
    await tree.close()


@story
async def test_sequence_nodes_grow_and_are_never_reused(engine: Engine) -> None:
    tree = await engine.open()
    first = await tree.create("/queue/n-", sequence=True, make_parents=True)
    await tree.delete(first)
    second = await tree.create("/queue/n-", sequence=True)
    [third] = await tree.multi([Create("/queue/n-", sequence=True)])
    assert first < second < third
    assert len(first) == len("/queue/n-0000000000")
    await tree.close()


@story
async def test_ephemeral_nodes_die_with_the_session_and_the_others_stay(engine: Engine) -> None:
    tree = await engine.open()
    await tree.create("/stays", b"data")
    await tree.create("/dies", ephemeral=True)
    with pytest.raises(EphemeralParent):
        await tree.create("/dies/child")
    (_, died), (_, stayed) = await tree.get("/dies"), await tree.get("/stays")
    assert (died.ephemeral_owner, stayed.ephemeral_owner) == (tree.session_id, 0)
    await tree.close()

    again = await engine.open()
    assert await again.children("/") == ["stays"]
    assert await again.get("/stays") == (b"data", stayed)
    await again.create("/dies", ephemeral=True)
    _, reborn = await again.get("/dies")
    assert reborn.czxid > died.czxid, "a broker epoch never goes back"
    assert reborn.ephemeral_owner == again.session_id != died.ephemeral_owner
    await again.close()


@story
async def test_writes_that_race_all_count(engine: Engine) -> None:
    tree = await engine.open()
    await tree.create("/counter", b"0")

    async def increment() -> int:
        for attempts in range(1, 1000):
            data, stat = await tree.get("/counter")
            try:
                await tree.set("/counter", b"%d" % (int(data) + 1), stat.version)
            except BadVersion:
                continue
            return attempts
        raise AssertionError("never got through")

    attempts = await asyncio.gather(*(increment() for _ in range(40)))
    assert (await tree.get("/counter"))[0] == b"40"
    assert max(attempts) > 1, "nobody raced"
    await tree.close()


@story
async def test_a_watch_hears_of_its_subtree_before_the_writer_goes_on(engine: Engine) -> None:
    tree = await engine.open()
    await tree.multi([Create("/a"), Create("/ab"), Create("/a/b")])
    heard: list[TreeEvent] = []
    cancel = tree.watch("/a", heard.extend)
    await tree.multi([Set("/a", b"x"), Set("/ab", b"x"), Create("/a/c"), Delete("/a/b")])
    assert sorted(heard) == [TreeEvent("/a"), TreeEvent("/a/b"), TreeEvent("/a/c")]
    heard.clear()
    await tree.create("/a/d")
    assert heard == [TreeEvent("/a/d")], "a parent that gains a child has not changed"
    cancel()
    cancel()
    await tree.delete("/a/d")
    assert len(heard) == 1
    await tree.close()


@story
async def test_events_arrive_in_the_order_of_the_writes(engine: Engine) -> None:
    tree = await engine.open()
    heard: list[TreeEvent] = []
    tree.watch("/", heard.extend)
    await asyncio.gather(*(tree.create(f"/n{n}") for n in range(300)))
    assert heard == [TreeEvent(f"/n{n}") for n in range(300)]
    await tree.close()


@story
async def test_a_node_made_anew_is_heard_of(engine: Engine) -> None:
    tree = await engine.open()
    await tree.create("/a", b"same")
    heard: list[TreeEvent] = []
    tree.watch("/", heard.extend)
    await tree.multi([Delete("/a"), Create("/a", b"same")])
    assert set(heard) == {TreeEvent("/a")}
    await tree.close()


@story
async def test_a_closed_tree_has_lost_its_session(engine: Engine) -> None:
    tree = await engine.open()
    states: list[SessionState] = []
    tree.watch_session(states.append)
    writing = asyncio.ensure_future(tree.create("/under-way"))
    await asyncio.sleep(0)
    await tree.close()
    await tree.close()
    assert await writing == "/under-way"
    assert states == [SessionState.CONNECTED, SessionState.LOST]
    assert tree.state is SessionState.LOST
    for attempt in (tree.get("/"), tree.create("/a"), tree.multi([]), tree.children("/")):
        with pytest.raises(SessionLost):
            await attempt


@story
async def test_a_writer_who_was_cancelled_does_not_disturb_the_others(engine: Engine) -> None:
    tree = await engine.open()
    leaver = asyncio.ensure_future(tree.create("/a"))
    stayer = asyncio.ensure_future(tree.create("/b"))
    await asyncio.sleep(0)
    leaver.cancel()
    assert await stayer == "/b"
    assert await tree.children("/") == ["a", "b"]
    await tree.close()
