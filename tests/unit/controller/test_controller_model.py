"""After any sequence of requests, the image equals one that is read afresh from the tree."""

import asyncio
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ottla.cluster.image import Changes, Image, advance
from ottla.cluster.metadata import Metadata
from ottla.cluster.registration import register_broker
from ottla.cluster.sqlite_tree import open_tree
from ottla.config.dynamic import Change, Op
from ottla.config.live import LiveSettings
from ottla.config.table import Settings
from ottla.controller.controller import Controller
from ottla.controller.requests import ConfigAlteration, NewPartitions, NewTopic, TopicRef
from ottla.protocol.errors import ErrorCode

from .test_controller import NODE

T = TypeVar("T")

names = st.sampled_from(["a", "b", "c.d", "c_d"])
counts = st.integers(0, 4)


class ControllerMachine(RuleBasedStateMachine):
    """Requests and restarts, against the number of partitions each topic must have."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.directory = tempfile.TemporaryDirectory()
        self.topics: dict[str, int] = {}

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(coroutine)

    @initialize()
    def start(self) -> None:
        self.wait(self.start_broker())

    async def start_broker(self) -> None:
        self.tree = open_tree(Path(self.directory.name) / "tree")
        self.metadata = Metadata(self.tree)
        self.told = Image()
        self.metadata.subscribe(self.replay)
        await self.metadata.open()
        await register_broker(self.tree, 1, NODE)
        self.controller = Controller(self.metadata, LiveSettings(Settings()), 1)
        assert await self.controller.elect(now_ms=1)

    def replay(self, image: Image, delta: Any) -> None:
        """What a listener would hold that knows the deltas alone."""
        topics = {name: change.after for name, change in delta.topics.items()}
        configs = {name: image.topic_configs.get(name) for name in delta.topic_configs}
        self.told, _ = advance(self.told, Changes(topics=topics, topic_configs=configs))

    async def stop_broker(self) -> None:
        await self.metadata.close()
        await self.tree.close()

    @rule(name=names, count=counts)
    def create(self, name: str, count: int) -> None:
        [result] = self.wait(self.controller.create_topics([NewTopic(name, count)]))
        twin = {"c.d": "c_d", "c_d": "c.d"}.get(name)
        fits = count > 0 and name not in self.topics and twin not in self.topics
        assert (result.error is ErrorCode.NONE) == fits
        if fits:
            self.topics[name] = count

    @rule(name=names)
    def delete(self, name: str) -> None:
        [result] = self.wait(self.controller.delete_topics([TopicRef(name)]))
        assert (result.error is ErrorCode.NONE) == (name in self.topics)
        self.topics.pop(name, None)

    @rule(name=names, count=counts)
    def grow(self, name: str, count: int) -> None:
        [result] = self.wait(self.controller.create_partitions([NewPartitions(name, count)]))
        fits = name in self.topics and count > self.topics[name]
        assert (result.error is ErrorCode.NONE) == fits
        if fits:
            self.topics[name] = count

    @rule(name=names, value=st.sampled_from(["1", "2", "x"]))
    def alter(self, name: str, value: str) -> None:
        change = ConfigAlteration(2, name, [Change("retention.ms", Op.SET, value)])
        [result] = self.wait(self.controller.alter_configs([change]))
        assert (result.error is ErrorCode.NONE) == (name in self.topics and value != "x")

    @rule()
    def restart(self) -> None:
        before = self.metadata.image
        self.wait(self.stop_broker())
        self.wait(self.start_broker())
        assert self.metadata.image.topics == before.topics
        assert self.metadata.image.topic_configs == before.topic_configs

    @invariant()
    def image_is_what_a_fresh_reader_sees(self) -> None:
        image = self.metadata.image
        assert {name: len(topic.partitions) for name, topic in image.topics.items()} == self.topics
        assert image.topics_by_id == {t.topic_id: t for t in image.topics.values()}
        assert self.told.topics == image.topics
        assert self.told.topic_configs == image.topic_configs
        assert set(image.topic_configs) == set(image.topics)
        fresh = Metadata(self.tree)
        self.wait(fresh.open())
        assert fresh.image == image
        self.wait(fresh.close())

    def teardown(self) -> None:
        if hasattr(self, "tree"):
            self.wait(self.stop_broker())
        self.loop.close()
        self.directory.cleanup()


ControllerMachine.TestCase.settings = settings(
    max_examples=25, stateful_step_count=20, deadline=None
)
test_image_equals_what_is_reloaded = ControllerMachine.TestCase
