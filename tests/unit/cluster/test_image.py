"""The image: lookups, sharing of what did not change, and what the delta says."""

import time
import uuid

from ottla.cluster.image import (
    BrokerImage,
    Changes,
    ConfigImage,
    Delta,
    Image,
    PartitionImage,
    TopicImage,
    advance,
)
from ottla.cluster.znodes import Endpoint


def topic(name: str, partitions: int = 1, leader: int = 1, number: int = 0) -> TopicImage:
    """A topic whose partitions are all led by one broker."""
    made = tuple(PartitionImage(p, (1, 2), (1, 2), leader, 0, 0) for p in range(partitions))
    return TopicImage(name, uuid.uuid5(uuid.NAMESPACE_OID, f"{name} {number}"), made, 0)


def test_topics_are_found_by_name_and_by_id() -> None:
    orders = topic("orders", partitions=2)
    image, delta = advance(Image(), Changes(topics={"orders": orders}))
    assert image.topics["orders"] is image.topics_by_id[orders.topic_id] is orders
    assert image.partition("orders", 1) == orders.partitions[1]
    assert image.partition("orders", 2) is image.partition("orders", -1) is None
    assert image.partition("none", 0) is None
    assert list(delta.created_topics()) == [orders]
    assert list(delta.changed_partitions()) == [(orders, p) for p in orders.partitions]


def test_a_change_leaves_the_old_image_and_all_other_topics_alone() -> None:
    before, _ = advance(Image(), Changes(topics={n: topic(n) for n in ("a", "b")}))
    after, delta = advance(before, Changes(topics={"a": topic("a", leader=2)}))
    assert before.topics["a"].partitions[0].leader == 1
    assert after.topics["a"].partitions[0].leader == 2
    assert after.topics["b"] is before.topics["b"]
    assert after.brokers is before.brokers
    assert set(delta.topics) == {"a"}
    assert not list(delta.created_topics())


def test_only_partitions_that_differ_are_in_the_delta() -> None:
    before, _ = advance(Image(), Changes(topics={"a": topic("a", partitions=3)}))
    old = before.topics["a"]
    moved = old.partitions[1]._replace(leader=2, leader_epoch=1)
    added = PartitionImage(3, (1,), (1,), 1, 0, 0)
    new = old._replace(partitions=(old.partitions[0], moved, old.partitions[2], added))
    _, delta = advance(before, Changes(topics={"a": new}))
    assert list(delta.changed_partitions()) == [(new, moved), (new, added)]


def test_a_topic_made_again_is_deleted_and_created() -> None:
    old, new = topic("a", partitions=2, number=1), topic("a", number=2)
    before, _ = advance(Image(), Changes(topics={"a": old}))
    after, delta = advance(before, Changes(topics={"a": new}))
    assert list(delta.deleted_topics()) == [old]
    assert list(delta.created_topics()) == [new]
    assert list(delta.changed_partitions()) == [(new, new.partitions[0])]
    assert list(after.topics_by_id) == [new.topic_id]


def test_a_deleted_topic_is_gone_under_both_names() -> None:
    old = topic("a")
    before, _ = advance(Image(), Changes(topics={"a": old}))
    after, delta = advance(before, Changes(topics={"a": None, "never": None}))
    assert after == Image()
    assert list(delta.deleted_topics()) == [old]
    assert set(delta.topics) == {"a"}
    assert not list(delta.changed_partitions())


def test_settings_brokers_and_features_are_told_apart() -> None:
    broker = BrokerImage(1, (Endpoint("PLAINTEXT", "PLAINTEXT", "h", 1),), None, 7)
    changes = Changes(
        topic_configs={"a": ConfigImage({"retention.ms": "1"}, 0)},
        broker_configs={"<default>": ConfigImage({"x": "1"}, 0), "1": ConfigImage({"x": "2"}, 0)},
        group_configs={"g": ConfigImage({"x": "3"}, 0)},
        brokers={1: broker},
        features={"f": 1},
        controller_id=1,
        cluster_id="c",
    )
    image, delta = advance(Image(), changes)
    assert image.topic_config("a") == {"retention.ms": "1"}
    assert image.topic_config("b") == image.broker_config(9) == {}
    assert (image.broker_config(None), image.broker_config(1)) == ({"x": "1"}, {"x": "2"})
    assert (image.group_config("g"), image.group_config("h")) == ({"x": "3"}, {})
    assert image.brokers[1].endpoint("PLAINTEXT") == broker.endpoints[0]
    assert image.brokers[1].endpoint("SSL") is None
    assert image.offline_replicas(topic("a").partitions[0]) == (2,)
    assert (delta.brokers, delta.topic_configs, delta.group_configs) == ({1}, {"a"}, {"g"})
    assert (delta.broker_configs, delta.features, delta.controller) == ({"<default>", "1"}, 1, 1)


def test_what_is_read_again_unchanged_is_no_change() -> None:
    image, _ = advance(Image(), Changes(topics={"a": topic("a")}, controller_id=1))
    again, delta = advance(image, Changes(topics={"a": topic("a")}, controller_id=1))
    assert (again, delta) == (image, Delta())
    assert again.topics["a"] is image.topics["a"]


def test_one_more_topic_does_not_cost_all_the_others() -> None:
    image, _ = advance(Image(), Changes(topics={f"t{n}": topic(f"t{n}") for n in range(1_000)}))
    more = [topic(f"more{n}") for n in range(100)]
    began = time.process_time()
    for added in more:
        image, _ = advance(image, Changes(topics={added.name: added}))
    each_us = (time.process_time() - began) / len(more) * 1e6
    assert each_us < 1_000  # measured 25
