"""The controller over a real tree: what it decides is written in one step, fenced, and shows."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ottla.base.errors import ApiError
from ottla.cluster import znodes
from ottla.cluster.metadata import Metadata
from ottla.cluster.registration import register_broker
from ottla.cluster.sqlite_tree import open_tree
from ottla.cluster.znodes import BrokerNode, Endpoint
from ottla.config.dynamic import Change, Op
from ottla.config.live import LiveSettings
from ottla.config.table import Settings
from ottla.controller.controller import Controller
from ottla.controller.requests import (
    ConfigAlteration,
    NewPartitions,
    NewTopic,
    ResourceType,
    TopicRef,
)
from ottla.protocol.errors import ErrorCode
from tests.support.zookeeper import connect, new_chroot
from tests.unit.cluster.stories import story

if TYPE_CHECKING:
    from ottla.node.ensemble import LocalEnsemble

NODE = BrokerNode((Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092),), None, 1)


@asynccontextmanager
async def controlled(path: Path, brokers: int = 1) -> AsyncIterator[tuple[Controller, Metadata]]:
    """An elected controller and the image that follows it."""
    tree = open_tree(path)
    metadata = Metadata(tree)
    await metadata.open()
    for broker in range(1, brokers + 1):
        await register_broker(tree, broker, NODE)
    controller = Controller(metadata, LiveSettings(Settings()), 1)
    assert await controller.elect(now_ms=1)
    yield controller, metadata
    await metadata.close()
    await tree.close()


def alteration(topic: str, name: str, value: str) -> ConfigAlteration:
    """Sets one setting of a topic."""
    return ConfigAlteration(ResourceType.TOPIC, topic, [Change(name, Op.SET, value)])


@story
async def test_a_topic_lives_from_creation_to_deletion(tmp_path: Path) -> None:
    async with controlled(tmp_path / "tree") as (controller, metadata):
        [made] = await controller.create_topics([NewTopic("a", 2)])
        assert metadata.image.topics["a"].topic_id == made.topic_id
        await controller.create_partitions([NewPartitions("a", 5)])
        assert [p.leader for p in metadata.image.topics["a"].partitions] == [1] * 5
        await controller.alter_configs([alteration("a", "retention.ms", "1000")])
        assert metadata.image.topic_config("a") == {"retention.ms": "1000"}
        [gone] = await controller.delete_topics([TopicRef(topic_id=made.topic_id)])
        assert (gone.name, gone.error) == ("a", ErrorCode.NONE)
        assert "a" not in metadata.image.topics
        assert "a" not in metadata.image.topic_configs
        assert await metadata.tree.children(znodes.TOPICS) == []
        [again] = await controller.create_topics([NewTopic("a")])
        assert again.topic_id != made.topic_id


@story
async def test_validating_only_changes_nothing(tmp_path: Path) -> None:
    async with controlled(tmp_path / "tree") as (controller, metadata):
        [result] = await controller.create_topics([NewTopic("a", 3)], validate_only=True)
        assert (result.error, result.partitions) == (ErrorCode.NONE, 3)
        assert not metadata.image.topics
        await controller.create_topics([NewTopic("a")])
        before = metadata.image
        await controller.create_partitions([NewPartitions("a", 3)], validate_only=True)
        change = alteration("a", "retention.ms", "1")
        await controller.alter_configs([change], validate_only=True)
        assert metadata.image is before


@story
async def test_of_many_who_make_one_topic_one_succeeds(tmp_path: Path) -> None:
    async with controlled(tmp_path / "tree") as (controller, metadata):
        results = await asyncio.gather(
            *(controller.create_topics([NewTopic("a"), NewTopic(f"b{n}")]) for n in range(20))
        )
        ours = [topic.error for topic, _ in results]
        assert ours.count(ErrorCode.NONE) == 1
        assert ours.count(ErrorCode.TOPIC_ALREADY_EXISTS) == 19
        assert {own.error for _, own in results} == {ErrorCode.NONE}
        assert len(metadata.image.topics) == 21


@story
async def test_changes_of_one_topic_that_race_are_all_kept(tmp_path: Path) -> None:
    async with controlled(tmp_path / "tree") as (controller, metadata):
        await controller.create_topics([NewTopic("a")])
        names = ["retention.ms", "segment.ms", "flush.ms", "retention.bytes", "segment.bytes"]
        changes = [alteration("a", name, "1048576") for name in names]
        await asyncio.gather(*(controller.alter_configs([change]) for change in changes))
        assert metadata.image.topic_config("a") == dict.fromkeys(names, "1048576")


@story
async def test_growth_and_deletion_that_race_leave_nothing_behind(tmp_path: Path) -> None:
    async with controlled(tmp_path / "tree") as (controller, metadata):
        for _ in range(10):
            await controller.create_topics([NewTopic("a")])
            [[gone], [grown]] = await asyncio.gather(
                controller.delete_topics([TopicRef("a")]),
                controller.create_partitions([NewPartitions("a", 3)]),
            )
            assert gone.error is ErrorCode.NONE
            assert grown.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert await metadata.tree.children(znodes.TOPICS) == []


@story
async def test_a_controller_that_was_replaced_changes_nothing(tmp_path: Path) -> None:
    async with controlled(tmp_path / "tree") as (controller, metadata):
        await metadata.tree.set(znodes.CONTROLLER_EPOCH, znodes.encode_number(99))
        for _ in range(2):
            with pytest.raises(ApiError) as refused:
                await controller.create_topics([NewTopic("a")])
            assert refused.value.code == ErrorCode.NOT_CONTROLLER
        assert await metadata.tree.children(znodes.TOPICS) == []


@story
async def test_there_is_one_controller_and_each_term_has_a_greater_epoch(tmp_path: Path) -> None:
    for epoch in (1, 2):
        async with controlled(tmp_path / "tree") as (_, metadata):
            data, _ = await metadata.tree.get(znodes.CONTROLLER_EPOCH)
            assert int(data) == epoch
            assert metadata.image.controller_id == 1
            second = Controller(metadata, LiveSettings(Settings()), 2)
            assert not await second.elect(now_ms=1)
            with pytest.raises(ApiError):
                await second.create_topics([NewTopic("a")])


@story
async def test_leaders_go_round_from_topic_to_topic(tmp_path: Path) -> None:
    async with controlled(tmp_path / "tree", brokers=3) as (controller, metadata):
        for n in range(6):
            await controller.create_topics([NewTopic(f"t{n}", 1, 2)])
        leaders = [topic.partitions[0].leader for topic in metadata.image.topics.values()]
        assert leaders == [1, 2, 3, 1, 2, 3]


@story
async def test_a_thousand_partitions_are_made_at_once_and_quickly(tmp_path: Path) -> None:
    async with controlled(tmp_path / "tree") as (controller, metadata):
        began = time.process_time()
        [result] = await controller.create_topics([NewTopic("a", 1000)])
        took_s = time.process_time() - began
        assert result.error is ErrorCode.NONE
        assert len(metadata.image.topics["a"].partitions) == 1000
        assert took_s < 1.0  # measured 0.06


@story
async def test_only_the_controller_that_was_named_is_replaced(tmp_path: Path) -> None:
    async with controlled(tmp_path / "tree", brokers=3) as (_, metadata):
        second = Controller(metadata, LiveSettings(Settings()), 2)
        third = Controller(metadata, LiveSettings(Settings()), 3)
        assert await second.elect(2, instead_of=1)
        assert not await third.elect(3, instead_of=1), "another rules already"
        assert metadata.image.controller_id == 2
        [made] = await second.create_topics([NewTopic("a")])
        assert made.error is ErrorCode.NONE


@story
async def test_topics_too_large_for_one_step_are_made_grown_and_deleted(
    zookeeper: "LocalEnsemble",
) -> None:
    """ZooKeeper takes a megabyte at a time: some 3,000 partitions were the most before."""
    tree = await connect(zookeeper.connect, new_chroot())
    metadata = Metadata(tree)
    await metadata.open()
    for broker in (1, 2, 3):
        await register_broker(tree, broker, NODE)
    controller = Controller(metadata, LiveSettings(Settings()), 1)
    assert await controller.elect(now_ms=1)
    wanted = [NewTopic("large", 3500, 3), NewTopic("small", 3, 3)]
    made = await controller.create_topics(wanted)
    assert [each.error for each in made] == [ErrorCode.NONE, ErrorCode.NONE]
    [grown] = await controller.create_partitions([NewPartitions("large", 5000)])
    assert grown.error is ErrorCode.NONE
    partitions = metadata.image.topics["large"].partitions
    assert len(partitions) == 5000
    assert all(each.leader in each.isr and len(each.lives) == 3 for each in partitions)
    gone = await controller.delete_topics([TopicRef("small"), TopicRef("large"), TopicRef("no")])
    assert {each.name: each.error for each in gone} == {
        "small": ErrorCode.NONE,
        "large": ErrorCode.NONE,
        "no": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert await tree.children(znodes.TOPICS) == []
    await metadata.close()
    await tree.close()
