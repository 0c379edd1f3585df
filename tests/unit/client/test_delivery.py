"""What became of a record can be waited for in a thread, awaited, or called back."""

import asyncio
import threading

import pytest

from ottla.base.errors import OttlaError
from ottla.base.ids import TopicPartition
from ottla.client.delivery import Delivery, Outcome, RecordMetadata
from tests.unit.client.scripted import run

TARGET = TopicPartition("t", 3)


def test_records_of_a_batch_have_consecutive_offsets() -> None:
    outcome = Outcome(TARGET)
    deliveries = [Delivery(outcome, n, 100 + n) for n in range(2)]
    assert not deliveries[0].done()
    outcome.resolve(40, -1, None)
    assert [d.result(0) for d in deliveries] == [
        RecordMetadata("t", 3, 40, 100),
        RecordMetadata("t", 3, 41, 101),
    ]


def test_the_brokers_time_counts_where_it_gives_one() -> None:
    outcome = Outcome(TARGET)
    outcome.resolve(0, 777, None)
    assert Delivery(outcome, 0, 5).result().timestamp == 777


def test_a_thread_waits_until_another_knows() -> None:
    outcome = Outcome(TARGET)
    delivery = Delivery(outcome, 0, 0)
    timer = threading.Timer(0.01, outcome.resolve, (1, -1, None))
    timer.start()
    assert delivery.result(5).offset == 1
    timer.join()


def test_waiting_ends_with_the_time() -> None:
    with pytest.raises(TimeoutError, match=r"within 0.01 s"):
        Delivery(Outcome(TARGET), 0, 0).result(0.01)


def test_a_failure_is_raised_and_called_back() -> None:
    outcome = Outcome(TARGET)
    told: list[tuple[RecordMetadata | None, Exception | None]] = []
    delivery = Delivery(outcome, 0, 0)
    outcome.call_back(delivery, lambda *what: told.append(what))
    outcome.resolve(-1, -1, OttlaError("refused"))
    with pytest.raises(OttlaError, match="refused"):
        delivery.result()
    assert told == [(None, outcome.error)]


def test_many_may_await_one_batch_and_one_may_give_up() -> None:
    async def story() -> None:
        outcome = Outcome(TARGET)
        waiting = [asyncio.ensure_future(Delivery(outcome, n, 0)) for n in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
        outcome.resolve(10, -1, None)
        assert [(await each).offset for each in waiting[1:]] == [11, 12]

    run(story())


def test_a_loop_hears_from_another_thread() -> None:
    async def story() -> None:
        outcome = Outcome(TARGET)
        threading.Timer(0.01, outcome.resolve, (1, -1, None)).start()
        assert (await Delivery(outcome, 0, 0)).offset == 1

    run(story())


def test_a_batch_in_two_parts_is_done_when_both_are() -> None:
    outcome = Outcome(TARGET)
    deliveries = [Delivery(outcome, n, 0) for n in range(3)]
    first, second = outcome.split(1)
    second.resolve(-1, -1, OttlaError("too large"))
    assert not deliveries[0].done()
    first.resolve(70, -1, None)
    assert deliveries[0].result(0).offset == 70
    assert [str(delivery.outcome()[1]) for delivery in deliveries[1:]] == ["too large"] * 2
    assert str(outcome.failure()) == "too large"
