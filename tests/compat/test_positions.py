"""Where a consumer begins, goes and commits: the same with each of the clients."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.support.clients import admin, create_topic, produce, unique_name
from tests.support.requirements import requires
from tests.support.seeking import (
    AioKafka,
    Confluent,
    Java,
    Jvm,
    KafkaPython,
    ModernJava,
    NoPosition,
    Seeking,
)

pytestmark = [pytest.mark.compat, pytest.mark.filterwarnings("ignore::ResourceWarning")]

RECORDS = 10
STEP_MS = 10
NOW_MS = int(time.time() * 1000)
Open = Callable[..., Seeking]


@pytest.fixture(scope="module")
def jvm() -> Iterator[Jvm]:
    """One for all the tests, as it takes a second to start."""
    with closing(Jvm()) as found:
        yield found


@pytest.fixture(
    params=[
        pytest.param(Confluent, id="confluent"),
        pytest.param(KafkaPython, id="kafka-python"),
        pytest.param(AioKafka, id="aiokafka"),
        pytest.param(Java, id="java", marks=pytest.mark.java),
        pytest.param(ModernJava, id="java-consumer-protocol", marks=pytest.mark.java),
    ]
)
def open_consumer(
    request: pytest.FixtureRequest, bootstrap: str, stamped: str, jvm: Jvm
) -> Iterator[Open]:
    """Makes consumers of the test's topic, one after the other."""
    opened: list[Seeking] = []

    def make(group: str | None = None, reset: str = "earliest") -> Seeking:
        for before in opened:
            before.close()
        more: dict[str, Any] = {}
        if issubclass(request.param, Java):
            requires("java", "javac", "maven")
            more = {"jvm": jvm}
        opened[:] = [request.param(bootstrap, stamped, group, reset, **more)]
        return opened[0]

    yield make
    for last in opened:
        last.close()


@pytest.fixture
def stamped(bootstrap: str) -> str:
    """A topic of ten records, one every ten milliseconds."""
    topic = create_topic(bootstrap, "stamped")
    times = [NOW_MS + number * STEP_MS for number in range(RECORDS)]
    produce(bootstrap, topic, [{"value": b"v", "timestamp": each} for each in times])
    return topic


def test_without_a_commit_it_begins_where_it_was_told_to(
    open_consumer: Open, bootstrap: str, stamped: str
) -> None:
    first = open_consumer(unique_name("group"), "earliest")
    first.assign()
    assert first.starts_at() == 0
    last = open_consumer(unique_name("group"), "latest")
    last.assign()
    assert last.starts_at() == RECORDS
    produce(bootstrap, stamped, [b"one more"])
    assert last.read(1) == [RECORDS]
    nowhere = open_consumer(unique_name("group"), "none")
    nowhere.assign()
    with pytest.raises(NoPosition):
        nowhere.read(1)


def test_a_position_outside_the_log_is_reset_too(open_consumer: Open) -> None:
    group = unique_name("group")
    client = open_consumer(group)
    client.assign()
    client.commit(5000)
    again = open_consumer(group, "earliest")
    again.assign()
    assert again.read(RECORDS) == list(range(RECORDS))
    again.seek(5000)
    assert again.read(RECORDS) == list(range(RECORDS))


def test_it_reads_on_from_where_it_seeks(open_consumer: Open) -> None:
    client = open_consumer()
    client.assign()
    assert client.read(RECORDS) == list(range(RECORDS))
    for offset in (7, 0, 9, 3):
        client.seek(offset)
        rest = list(range(offset, RECORDS))
        assert client.read(len(rest)) == rest


def test_a_time_leads_to_the_first_record_that_is_not_older(open_consumer: Open) -> None:
    client = open_consumer()
    client.assign()
    for number in range(RECORDS):
        stamp = NOW_MS + number * STEP_MS
        assert client.offset_for_time(stamp) == number
        assert client.offset_for_time(stamp - STEP_MS + 1) == number
    assert client.offset_for_time(0) == 0
    assert client.offset_for_time(NOW_MS + RECORDS * STEP_MS) is None


def test_who_takes_a_partition_by_itself_is_in_no_group(
    open_consumer: Open, bootstrap: str
) -> None:
    group = unique_name("alone")
    client = open_consumer(group)
    client.assign()
    assert client.read(RECORDS) == list(range(RECORDS))
    assert client.committed() is None
    administrator = admin(bootstrap)
    listed = administrator.list_consumer_groups().result(20).valid
    assert group not in {each.group_id for each in listed}
    # It may use the name of a group all the same, to keep its offsets there.
    client.commit(3)
    again = open_consumer(group)
    again.assign()
    assert again.read(RECORDS - 3) == list(range(3, RECORDS))


def test_a_member_commits_in_all_its_ways(open_consumer: Open) -> None:
    group = unique_name("group")
    member = open_consumer(group)
    member.subscribe()
    assert member.read(RECORDS) == list(range(RECORDS))
    member.commit()
    assert member.committed() == RECORDS
    assert member.commit_async(7) == ""
    assert member.committed() == 7
    member.commit(4)
    assert member.committed() == 4
    successor = open_consumer(group)
    successor.subscribe()
    assert successor.read(RECORDS - 4) == list(range(4, RECORDS))
