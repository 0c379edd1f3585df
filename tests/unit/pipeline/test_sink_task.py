"""Tasks and their driver without Spark, against a real broker: which attempts count, and when."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from ottla.base.errors import ApiError
from ottla.client.cluster import TRANSACTION
from ottla.pipeline.sink_commit import (
    abort_parts,
    abort_unheard,
    commit_parts,
    newest_generation,
    run_of,
)
from ottla.pipeline.sink_message import NO_GENERATION, Claim, PartMessage
from ottla.pipeline.sink_options import exactly_once, read_sink_options
from ottla.pipeline.sink_schema import SinkColumns
from ottla.pipeline.sink_task import write_part
from ottla.pipeline.sink_work import Attempt, Work, generation_of
from ottla.pipeline.writing_link import link_to
from ottla.protocol.apis.describe_sinks import DescribeSinksRequest
from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.support.clients import consume, create_topic
from tests.support.waiting import wait_for

StartBroker = Callable[..., OttlaBroker]
pytestmark = pytest.mark.usefixtures("ottla_only")


class Sink:
    """A sink, and tasks that write to it."""

    def __init__(self, bootstrap: str, topic: str, timeout_ms: int = 60_000) -> None:
        options = read_sink_options({"kafka.bootstrap.servers": bootstrap}, streaming=True)
        columns = SinkColumns(topic, has_key=False, has_headers=False, has_partition=False)
        self.work = Work(exactly_once(options.producer()), columns, timeout_ms)
        self.bootstrap, self.topic = bootstrap, topic
        self.name = str(uuid4())
        self.attempts = 0
        self.begin_anew()

    def begin_anew(self) -> None:
        self.driver = f"host:{uuid4().int}"
        self.run = run_of(str(uuid4()), self.driver)

    def claim(self, batch: int) -> Claim:
        return Claim(self.name, self.run, batch, "query")

    def task(self, batch: int, partition: int, *values: str) -> PartMessage:
        frames = [pa.RecordBatch.from_pydict({"value": [value]}) for value in values]
        return self.task_of(batch, partition, iter(frames))

    def task_of(self, batch: int, partition: int, frames: Iterator[pa.RecordBatch]) -> PartMessage:
        self.attempts += 1
        return write_part(frames, self.work, self.claim(batch), Attempt(partition, self.attempts))

    def commit(self, *messages: PartMessage, digest: str = "", **others: Any) -> None:
        commit_parts(self.work.settings, messages, digest, self.work.timeout_ms, **others)

    def seen(self) -> list[str]:
        found = consume(self.bootstrap, self.topic, isolation_level="read_committed")
        return [message.value().decode() for message in found]

    def is_given_up(self) -> bool:
        link, asked = link_to(self.work.settings), DescribeSinksRequest(sink_ids=[self.name])
        answer = link.run(link.cluster.ask_coordinator(self.name, asked, kind=TRANSACTION))
        return not answer.sinks[0].slots


@pytest.fixture
def sink(bootstrap: str, topic: str) -> Sink:
    return Sink(bootstrap, topic)


@pytest.fixture
def impatient(own_broker: StartBroker) -> Sink:
    """A sink whose batches are given up after a second, and a broker that looks often."""
    broker = own_broker({"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"})
    return Sink(broker.bootstrap, create_topic(broker.bootstrap), timeout_ms=1000)


def refused(code: ErrorCode, message: str) -> "pytest.RaisesExc[ApiError]":
    return pytest.raises(ApiError, match=message, check=lambda error: error.code == code)


def test_the_parts_that_the_driver_names_count_and_no_others(sink: Sink) -> None:
    first, loser, second = sink.task(0, 0, "a"), sink.task(0, 1, "loser"), sink.task(0, 1, "b")
    assert sink.seen() == []
    assert first.slot is not None
    assert first.slot != loser.slot
    sink.commit(first, second)
    wait_for(lambda: sorted(sink.seen()) == ["a", "b"], "the markers")
    sink.commit(first, second)  # once more: Spark may
    assert sorted(sink.seen()) == ["a", "b"]


def test_a_batch_that_comes_again_is_drained_and_skipped(sink: Sink) -> None:
    sink.commit(sink.task(7, 0, "a", "b"), digest="d")
    sink.begin_anew()
    frames = [pa.RecordBatch.from_pydict({"value": ["x"] * 3})] * 4
    left = iter(frames)
    again = sink.task_of(7, 0, left)
    assert (again.skipped, again.rows, again.slot) == (True, 12, None)
    assert next(left, None) is None
    sink.commit(again, digest="d")
    with refused(ErrorCode.SINK_BATCH_DIFFERS, "batch 7 of sink .* was not committed"):
        sink.commit(again, digest="other")
    with refused(ErrorCode.CHECKPOINT_BEHIND_SINK, "ottla sinks reset"):
        sink.task(6, 0, "old")
    assert sink.seen() == ["a", "b"]


def test_a_batch_without_any_part_still_counts(sink: Sink) -> None:
    sink.commit(claim=sink.claim(0))
    assert sink.task(0, 0, "again").skipped


def test_a_task_without_rows_opens_nothing_and_its_batch_still_counts(sink: Sink) -> None:
    empty = sink.task(0, 0)
    assert empty == PartMessage(sink.claim(0), 0)
    assert newest_generation([empty]) == NO_GENERATION
    sink.commit(empty)
    assert sink.task(0, 0, "again").skipped


def test_a_run_that_was_replaced_can_neither_write_nor_commit(sink: Sink) -> None:
    written, old = sink.task(0, 0, "a"), sink.run
    sink.begin_anew()
    sink.commit(sink.task(0, 0, "b"))
    with pytest.raises(ApiError):
        sink.commit(written)
    sink.run = old
    with refused(ErrorCode.SINK_FENCED, "Another run|another run|generation"):
        sink.task(1, 0, "c")
    assert sink.seen() == ["b"]


def test_a_batch_that_is_given_up_leaves_nothing(sink: Sink) -> None:
    written = sink.task(0, 0, "a")
    abort_parts(sink.work.settings, written.claim, written.generation)
    with refused(ErrorCode.SINK_SLOT_LOST, "nothing was committed"):
        sink.commit(written)
    sink.commit(sink.task(0, 0, "b"))
    assert sink.seen() == ["b"]


def test_an_abort_reaches_tasks_that_told_nothing(sink: Sink) -> None:
    written = sink.task(0, 0, "a")
    abort_parts(sink.work.settings, sink.claim(0), NO_GENERATION)
    with refused(ErrorCode.SINK_SLOT_LOST, "nothing was committed"):
        sink.commit(written)


def test_a_batch_of_which_nothing_was_told_is_given_up_by_name(sink: Sink) -> None:
    written = sink.task(3, 0, "a")
    abort_unheard(sink.work.settings, sink.name, sink.driver, 2)  # another batch: nothing happens
    abort_unheard(sink.work.settings, str(uuid4()), sink.driver, 3)
    abort_unheard(sink.work.settings, sink.name, sink.driver, 3)
    with refused(ErrorCode.SINK_SLOT_LOST, "nothing was committed"):
        sink.commit(written)


def test_a_run_that_was_replaced_does_not_give_up_the_batch_of_its_successor(sink: Sink) -> None:
    sink.task(3, 0, "old")
    old = sink.driver
    sink.begin_anew()
    written = sink.task(3, 0, "new")
    abort_unheard(sink.work.settings, sink.name, old, 3)
    sink.commit(written)
    wait_for(lambda: sink.seen() == ["new"], "the markers")


def test_a_run_that_never_opened_the_sink_does_not_take_it_by_giving_up(sink: Sink) -> None:
    """A second driver of a query failed before any of its tasks had a row."""
    written = sink.task(3, 0, "live")
    stranger = replace(sink.claim(3), run_id=run_of(str(uuid4()), "host:other"))
    abort_parts(sink.work.settings, stranger, NO_GENERATION)
    sink.commit(written)
    wait_for(lambda: sink.seen() == ["live"], "the markers")


def test_batches_that_the_broker_has_split_stay_in_the_transaction(bootstrap: str) -> None:
    sink = Sink(bootstrap, create_topic(bootstrap, max_message_bytes=2_000))
    values = [f"{n:0100}" for n in range(200)]
    frame = pa.RecordBatch.from_pydict({"value": values})
    given_up = sink.task_of(0, 0, iter([frame]))
    assert sink.seen() == []
    abort_parts(sink.work.settings, given_up.claim, given_up.generation)
    wait_for(sink.is_given_up, "the markers")
    assert sink.seen() == [], "records of a batch that was given up are visible"
    sink.commit(sink.task_of(0, 0, iter([frame])))
    wait_for(lambda: sink.seen() == values, "the markers")


def test_a_task_that_outlives_its_write_does_not_bring_it_back(impatient: Sink) -> None:
    settings, name = impatient.work.settings, str(uuid4())
    link = link_to(settings)
    claim = Claim(name, name, 0, ephemeral=True)
    claim = replace(claim, generation=generation_of(link, claim, 1000))
    abort_parts(settings, claim, NO_GENERATION)

    def is_forgotten() -> bool:
        asked = DescribeSinksRequest(sink_ids=[name])
        [found] = link.run(link.cluster.ask_coordinator(name, asked, kind=TRANSACTION)).sinks
        return bool(found.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)

    def late() -> Iterator[pa.RecordBatch]:
        wait_for(is_forgotten, "the write to be forgotten")
        time.sleep(0.5)  # signs of life are sent meanwhile
        assert is_forgotten()
        yield pa.RecordBatch.from_pydict({"value": ["late"]})

    with refused(ErrorCode.SINK_FENCED, "the sink is not open"):
        write_part(late(), impatient.work, claim, Attempt(0, 1))
    assert is_forgotten()


def test_a_slow_task_is_not_taken_for_a_lost_one(impatient: Sink) -> None:
    def slowly() -> Iterator[pa.RecordBatch]:
        for value in ("a", "b", "c", "d"):
            time.sleep(0.6)
            yield pa.RecordBatch.from_pydict({"value": [value]})

    early = impatient.task(0, 0, "early")
    late = impatient.task_of(0, 1, slowly())
    impatient.commit(early, late)
    wait_for(lambda: sorted(impatient.seen()) == ["a", "b", "c", "d", "early"], "the markers")


def test_a_task_that_hangs_does_not_keep_its_group_alive(impatient: Sink) -> None:
    def hangs() -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"value": ["a"]})
        wait_for(impatient.is_given_up, "the group to be given up")

    early = impatient.task(0, 0, "early")
    with pytest.raises(ApiError):
        impatient.task_of(0, 1, hangs())
    with refused(ErrorCode.SINK_SLOT_LOST, "nothing was committed"):
        impatient.commit(early)
    assert impatient.seen() == []


def test_a_task_that_waits_for_its_first_row_does_not_wait_for_ever(impatient: Sink) -> None:
    def hangs() -> Iterator[pa.RecordBatch]:
        wait_for(impatient.is_given_up, "the group to be given up")
        yield from ()

    early = impatient.task(0, 0, "early")
    empty = impatient.task_of(0, 1, hangs())
    with refused(ErrorCode.SINK_SLOT_LOST, "nothing was committed"):
        impatient.commit(early, empty)


def test_a_group_of_which_nothing_is_heard_is_given_up_whole(impatient: Sink) -> None:
    first, second = impatient.task(0, 0, "a"), impatient.task(0, 1, "b")
    wait_for(impatient.is_given_up, "the group to be given up")
    with refused(ErrorCode.SINK_SLOT_LOST, "nothing was committed"):
        impatient.commit(first, second)
    assert impatient.seen() == []


def test_keys_decide_nothing_if_they_are_to_be_ignored(bootstrap: str) -> None:
    topic = create_topic(bootstrap, partitions=4)
    named = {"kafka.bootstrap.servers": bootstrap, "kafka.partitioner.ignore.keys": "true"}
    settings = read_sink_options(named, streaming=False).producer()
    columns = SinkColumns(topic, has_key=True, has_headers=False, has_partition=False)
    rows = pa.RecordBatch.from_pydict({"key": ["k"] * 100, "value": ["v"] * 100})
    write_part(iter([rows]), Work(settings, columns, 60_000), None, Attempt(0, 1))
    assert [len(consume(bootstrap, topic, number)) for number in range(4)] == [25] * 4
