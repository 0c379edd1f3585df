"""What the driver asks the brokers before it plans a read."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from ottla.base.errors import OttlaError
from ottla.base.ids import TopicPartition
from ottla.pipeline.offsets import LATEST_BOUND, Bound
from ottla.pipeline.source_lookup import Lookup
from ottla.pipeline.source_options import read_source_options
from tests.pipeline.topics import add_partitions, delete_topic
from tests.support.clients import create_topic, produce, unique_name

pytestmark = pytest.mark.compat


@pytest.fixture
def lookup(bootstrap: str) -> Iterator[Callable[..., Lookup]]:
    made: list[Lookup] = []

    def look(**options: str) -> Lookup:
        named = {"kafka.bootstrap.servers": bootstrap, **options}
        made.append(Lookup(read_source_options(named)))
        return made[-1]

    yield look
    for each in made:
        each.close()


def test_new_partitions_are_seen_at_once_or_when_the_cache_is_old(
    lookup: Callable[..., Lookup], bootstrap: str, topic: str
) -> None:
    always = lookup(subscribe=topic)
    seldom = lookup(subscribe=topic, **{"partition.metadata.cache.ttl.ms": "3600000"})
    assert always.partitions() == seldom.partitions() == [TopicPartition(topic, 0)]
    add_partitions(bootstrap, topic, 3)
    assert len(always.partitions()) == 3
    assert len(seldom.partitions()) == 1


def test_retries_of_look_ups_are_settings_of_the_client(lookup: Callable[..., Lookup]) -> None:
    settings = lookup(
        subscribe="t", **{"fetchOffset.numRetries": "7", "fetchOffset.retryIntervalMs": "11"}
    ).admin.twin.settings
    assert (settings.retries, settings.retry_backoff_ms) == (7, 11)


def test_offsets_at_the_ends_and_by_time(lookup: Callable[..., Lookup], bootstrap: str) -> None:
    topic = create_topic(bootstrap, retention_ms=-1)
    one = TopicPartition(topic, 0)
    produce(bootstrap, topic, [{"value": b"v", "timestamp": 1000 + n} for n in range(3)])
    look = lookup(subscribe=topic)
    assert look.earliest([one]) == {one: 0}
    assert look.latest([one]) == {one: 3}
    assert look.since({one: 1001}) == {one: 1}
    assert look.since({one: 2000}) == {one: -1}


def test_a_topic_that_is_deleted_between_two_looks(
    lookup: Callable[..., Lookup], bootstrap: str, topic: str
) -> None:
    seldom = {"subscribe": topic, "partition.metadata.cache.ttl.ms": "3600000"}
    strict, lax = lookup(**seldom), lookup(**seldom, failOnDataLoss="false")
    known = strict.partitions()
    assert lax.partitions() == known
    delete_topic(bootstrap, topic)
    with pytest.raises(OttlaError, match=f"there is no partition {topic}-0 .*failOnDataLoss=false"):
        strict.latest(known)
    for bound in (LATEST_BOUND, Bound(by_time=True, everywhere=0)):
        assert lax.resolved("startingOffsets", bound, "error").offsets == {}


def test_a_topic_that_is_gone_is_waited_for_once(
    lookup: Callable[..., Lookup], bootstrap: str, topic: str
) -> None:
    lax = lookup(subscribe=f"{topic},{unique_name('gone')}", failOnDataLoss="false")
    began = time.monotonic()
    looks = [lax.partitions() for _ in range(20)]
    assert looks == [[TopicPartition(topic, 0)]] * 20
    assert time.monotonic() - began < 10, "a second for the first look, none for the others"


def test_internal_topics_match_no_pattern(lookup: Callable[..., Lookup], bootstrap: str) -> None:
    with closing(lookup(subscribePattern=".*")) as look:
        assert not [each for each in look.partitions() if each.topic.startswith("__consumer")]
