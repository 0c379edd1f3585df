"""The broker's image follows the tree of either engine; listeners act before a write returns."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ottla.base.errors import ClusterError
from ottla.cluster import znodes
from ottla.cluster.image import NO_LEADER, Delta, Image
from ottla.cluster.metadata import Metadata
from ottla.cluster.tree import Create, Delete, MultiFailed, Op, SessionState, Set, TreeEvent
from ottla.cluster.znodes import StateNode, TopicNode
from ottla.node.ensemble import LocalEnsemble
from tests.support.proxy import proxy
from tests.support.zookeeper import connect, new_chroot

from .engines import Engine
from .stories import story, until


@asynccontextmanager
async def following(engine: Engine) -> AsyncIterator[Metadata]:
    """Metadata over a tree of either engine, open while the test runs."""
    tree = await engine.open()
    metadata = Metadata(tree)
    await metadata.open()
    yield metadata
    await metadata.close()
    await tree.close()


def new_topic(name: str, partitions: int = 1) -> list[Op]:
    """What making a topic writes."""
    node = TopicNode(uuid.uuid4(), ((1,),) * partitions)
    ops: list[Op] = [Create(znodes.topic_path(name), znodes.encode_topic(node))]
    ops.append(Create(znodes.partitions_path(name)))
    for p in range(partitions):
        ops.append(Create(znodes.partition_path(name, p)))
        state = znodes.encode_state(StateNode(1, 0, (1,), 1))
        ops.append(Create(znodes.state_path(name, p), state))
    return ops


@story
async def test_listeners_hear_of_topics_again(engine: Engine) -> None:
    async with following(engine) as metadata:
        await metadata.write([*new_topic("a", 2), *new_topic("b")])
        heard: list[Delta] = []
        metadata.subscribe(lambda _, delta: heard.append(delta))
        await metadata.told_again({"a", "gone"})
        await metadata.caught_up()
        [delta] = heard
        told = [(topic.name, each.partition) for topic, each in delta.changed_partitions()]
        assert told == [("a", 0), ("a", 1)]
        assert not [*delta.created_topics(), *delta.deleted_topics()]


@story
async def test_a_topic_that_was_made_anew_is_not_taken_for_one_that_is_told_again(
    engine: Engine,
) -> None:
    async with following(engine) as metadata:
        heard: list[Delta] = []
        metadata.subscribe(lambda _, delta: heard.append(delta))
        await metadata.tree.multi(new_topic("a"))
        await metadata.told_again({"a"})
        assert [topic.name for delta in heard for topic in delta.created_topics()] == ["a"]


@story
async def test_the_settings_of_a_group_are_found_whatever_its_name(engine: Engine) -> None:
    names, given = ("billing", "a/b c", "größe", ".", ".."), {"consumer.session.timeout.ms": "1"}
    data = znodes.encode_config(given)
    async with following(engine) as metadata:
        await metadata.write([Create(znodes.group_config_path(name), data) for name in names])
        assert [metadata.image.group_config(name) for name in names] == [given] * len(names)
    async with following(engine) as metadata:
        assert metadata.image.group_configs.keys() == set(names)
        await metadata.write([Delete(znodes.group_config_path("."), version=0)])
        assert metadata.image.group_config(".") == {}


@story
async def test_a_topic_shows_in_the_image_once_its_write_returns(engine: Engine) -> None:
    async with following(engine) as metadata:
        await metadata.write(new_topic("a", partitions=2))
        assert [p.leader for p in metadata.image.topics["a"].partitions] == [1, 1]
        path = znodes.state_path("a", 1)
        state = znodes.encode_state(StateNode(2, 1, (2,), 1))
        await metadata.write([Set(path, state, version=0)])
        first, second = metadata.image.topics["a"].partitions
        assert (first.leader, first.partition_epoch) == (1, 0)
        assert (second.leader, second.leader_epoch, second.partition_epoch) == (2, 1, 1)


@story
async def test_a_write_returns_after_all_listeners_in_their_order(engine: Engine) -> None:
    async with following(engine) as metadata:
        told: list[str] = []

        async def opens_logs(image: Image, delta: Delta) -> None:
            await asyncio.sleep(0.01)
            assert "a" in image.topics
            assert "a" not in metadata.image.topics, "it shows once its logs are open"
            told.append(f"first: {sorted(delta.topics)}")

        metadata.subscribe(opens_logs)
        metadata.subscribe(lambda image, delta: told.append(f"second: {sorted(delta.topics)}"))
        await metadata.write(new_topic("a"))
        assert told == ["first: ['a']", "second: ['a']"]


@story
async def test_listeners_are_told_of_all_that_was_there_at_the_start(engine: Engine) -> None:
    async with following(engine) as metadata:
        await metadata.write(new_topic("a") + new_topic("b"))
    tree = await engine.open()
    again = Metadata(tree)
    told: list[Delta] = []
    again.subscribe(lambda image, delta: told.append(delta))
    await again.open()
    assert [sorted(delta.topics) for delta in told] == [["a", "b"]]
    await again.close()
    await tree.close()


@story
async def test_a_listener_that_fails_harms_neither_the_others_nor_the_image(engine: Engine) -> None:
    async with following(engine) as metadata:
        told: list[Delta] = []

        def fails(image: Image, delta: Delta) -> None:
            raise RuntimeError("on purpose")

        metadata.subscribe(fails)
        metadata.subscribe(lambda image, delta: told.append(delta))
        await metadata.write(new_topic("a"))
        assert (len(told), list(metadata.image.topics)) == (1, ["a"])


@story
async def test_a_failed_write_changes_nothing_and_is_raised(engine: Engine) -> None:
    async with following(engine) as metadata:
        with pytest.raises(MultiFailed):
            await metadata.write([*new_topic("a"), Delete("/none")])
        await metadata.caught_up()
        assert not metadata.image.topics


@story
async def test_writers_that_are_cancelled_leave_listeners_to_finish(engine: Engine) -> None:
    async with following(engine) as metadata:
        finished: list[Delta] = []
        begun = asyncio.Event()

        async def listener(image: Image, delta: Delta) -> None:
            begun.set()
            await asyncio.sleep(0.01)
            finished.append(delta)

        metadata.subscribe(listener)
        writer = asyncio.ensure_future(metadata.write(new_topic("a")))
        await begun.wait()
        writer.cancel()
        await metadata.caught_up()
        assert len(finished) == 1
        assert "a" in metadata.image.topics


@story
async def test_a_partition_without_a_state_has_no_leader_yet(engine: Engine) -> None:
    async with following(engine) as metadata:
        topic, *rest = new_topic("a")
        await metadata.write([topic])
        [partition] = metadata.image.topics["a"].partitions
        assert (partition.leader, partition.isr, partition.partition_epoch) == (NO_LEADER, (), -1)
        await metadata.write(rest)
        assert metadata.image.topics["a"].partitions[0].leader == 1


@story
async def test_a_node_that_cannot_be_read_is_ignored_later_and_refused_at_the_start(
    engine: Engine,
) -> None:
    async with following(engine) as metadata:
        await metadata.write(new_topic("a"))
        before = metadata.image.topics["a"]
        await metadata.write([Set(znodes.topic_path("a"), b"scribble"), *new_topic("b")])
        assert metadata.image.topics["a"] is before
        assert "b" in metadata.image.topics
    tree = await engine.open()
    again = Metadata(tree)
    with pytest.raises(ClusterError, match="/brokers/topics/a: the node cannot be read"):
        await again.open()
    await again.close()
    await tree.close()


@story
async def test_after_a_gap_everything_is_read_again(engine: Engine) -> None:
    async with following(engine) as metadata:
        await metadata.write(new_topic("a") + new_topic("b"))
        metadata._cancel_watch()
        # Changes that nobody heard of, as while ZooKeeper was away.
        ops: list[Op] = [Delete(op.path) for op in reversed(new_topic("a"))]
        await metadata.tree.multi([*ops, *new_topic("c")])
        metadata._on_events([TreeEvent("/", subtree=True)])
        await metadata.caught_up()
        assert sorted(metadata.image.topics) == ["b", "c"]


@story
async def test_the_image_is_behind_while_zookeeper_is_away_and_catches_up(
    zookeeper: LocalEnsemble,
) -> None:
    chroot = new_chroot()
    other = await connect(zookeeper.connect, chroot)
    async with proxy(zookeeper.connect) as between:
        tree = await connect(between.address, chroot)
        metadata = Metadata(tree)
        await metadata.open()
        between.cut()
        between.silence()
        await until(lambda: tree.state is not SessionState.CONNECTED, "the break")
        with pytest.raises(ClusterError):
            await metadata.write(new_topic("lost"))
        await other.multi(new_topic("meanwhile"))
        between.heal()
        await until(lambda: "meanwhile" in metadata.image.topics, "the image to catch up")
        await metadata.write(new_topic("after"))
        assert sorted(metadata.image.topics) == ["after", "meanwhile"]
        await metadata.close()
        await tree.close()
    await other.close()


@story
async def test_who_waits_is_told_when_the_broker_stops(engine: Engine) -> None:
    async with following(engine) as metadata:
        busy = asyncio.Event()

        async def never_done(image: Image, delta: Delta) -> None:
            busy.set()
            await asyncio.Event().wait()

        metadata.subscribe(never_done)
        writers = [asyncio.ensure_future(metadata.write(new_topic(n))) for n in ("a", "b")]
        await busy.wait()
        writers.append(asyncio.ensure_future(metadata.write(new_topic("c"))))
        await metadata.tree.multi([])
        await metadata.close()
        outcomes = await asyncio.gather(*writers, return_exceptions=True)
        assert [str(outcome) for outcome in outcomes] == ["the broker is stopping"] * 3
        with pytest.raises(ClusterError, match="stopping"):
            await metadata.caught_up()
