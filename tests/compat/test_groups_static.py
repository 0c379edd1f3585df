"""Static members: a restart within the session moves nothing, and two of the same name fence each other."""

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, KafkaException

from tests.support.clients import create_topic, unique_name
from tests.support.member_processes import Child
from tests.support.members import Confluent, KafkaPythonInThread, Member, settle
from tests.support.waiting import wait_for

pytestmark = pytest.mark.compat

PARTITIONS = 4


@pytest.fixture
def group() -> str:
    return unique_name("static")


@pytest.fixture
def shared(bootstrap: str) -> str:
    return create_topic(bootstrap, partitions=PARTITIONS)


@pytest.mark.parametrize(
    "kind", [Confluent, KafkaPythonInThread], ids=["confluent", "kafka-python"]
)
def test_a_restart_moves_nothing(
    bootstrap: str, group: str, shared: str, kind: Callable[..., Member]
) -> None:
    stays = Confluent(bootstrap, group, shared, group_instance_id="stays")
    restarts = kind(bootstrap, group, shared, group_instance_id="restarts")
    _, before = settle([stays, restarts], [2, 2], PARTITIONS)
    rebalances = list(stays.rebalances)
    restarts.close()
    restarts = kind(bootstrap, group, shared, group_instance_id="restarts")
    _, after = settle([stays, restarts], [2, 2], PARTITIONS)
    assert after == before
    assert stays.rebalances == rebalances
    restarts.close()
    stays.close()


def test_one_that_is_killed_keeps_its_part_if_it_is_back_in_time(
    bootstrap: str, group: str, shared: str
) -> None:
    stays = Confluent(bootstrap, group, shared, group_instance_id="stays")
    settings = {"group_instance_id": "restarts", "session_ms": 20_000}
    victim = Child("confluent", bootstrap, group, shared, **settings)
    _, before = settle([stays, victim], [2, 2], PARTITIONS)
    rebalances = list(stays.rebalances)
    victim.kill()
    victim = Child("confluent", bootstrap, group, shared, **settings)
    _, after = settle([stays, victim], [2, 2], PARTITIONS)
    assert (after, stays.rebalances) == (before, rebalances)
    victim.close()
    stays.close()


def test_one_that_stays_away_is_replaced(bootstrap: str, group: str, shared: str) -> None:
    stays = Confluent(bootstrap, group, shared, group_instance_id="stays")
    goes = Confluent(bootstrap, group, shared, group_instance_id="goes")
    settle([stays, goes], [2, 2], PARTITIONS)
    goes.close()
    settle([stays], [4], PARTITIONS)
    stays.close()


def test_the_second_of_a_name_fences_the_first(bootstrap: str, group: str, shared: str) -> None:
    first = Confluent(bootstrap, group, shared, group_instance_id="same")
    settle([first], [4], PARTITIONS)
    second = Confluent(bootstrap, group, shared, group_instance_id="same")
    settle([second], [4], PARTITIONS)

    def fenced() -> bool:
        second.poll()
        try:
            message = first.client.poll(0.1)
        except KafkaException as failure:
            return bool(failure.args[0].code() == KafkaError._FATAL)
        error = message.error() if message is not None else None
        return error is not None and error.code() in (
            KafkaError._FATAL,
            KafkaError.FENCED_INSTANCE_ID,
        )

    wait_for(fenced, "the first to be fenced")
    second.close()
    first.close()
