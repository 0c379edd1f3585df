"""Tasks and their driver without Spark, against a real broker: which attempts count, and when."""

import time
from collections.abc import Callable, Iterator
from uuid import uuid4

import pyarrow as pa
import pytest

from ottla.base.errors import ApiError
from ottla.client.cluster import TRANSACTION
from ottla.pipeline.sink_commit import abort_parts, abort_unheard, commit_parts, newest_generation
from ottla.pipeline.sink_message import NO_GENERATION, Claim, PartMessage
from ottla.pipeline.sink_options import exactly_once, read_sink_options
from ottla.pipeline.sink_schema import SinkColumns
from ottla.pipeline.sink_task import write_part
from ottla.pipeline.sink_work import Attempt, Work
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
        self.name, self.run = str(uuid4()), str(uuid4())
        self.attempts = 0

    def begin_anew(self) -> None:
        self.run = str(uuid4())

    def claim(self, batch: int) -> Claim:
        return Claim(self.name, self.run, batch, "query")

    def task(self, batch: int, partition: int, *values: str) -> PartMessage:
        frames = [pa.RecordBatch.from_pydict({"value": [value]}) for value in values]
        return self.task_of(batch, partition, iter(frames))

    def task_of(self, batch: int, partition: int, frames: Iterator[pa.RecordBatch]) -> PartMessage:
        self.attempts += 1
        return write_part(frames, self.work, self.claim(batch), Attempt(partition, self.attempts))

    def commit(self, *messages: PartMessage, digest: str = "") -> None:
        commit_parts(self.work.settings, messages, digest, self.work.timeout_ms)

    def seen(self) -> list[str]:
        found = consume(self.bootstrap, self.topic, isolation_level="read_committed")
        return [message.value().decode() for message in found]


@pytest.fixture
def sink(bootstrap: str, topic: str) -> Sink:
    return Sink(bootstrap, topic)


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
    abort_unheard(sink.work.settings, sink.name, 2)  # another batch: nothing happens
    abort_unheard(sink.work.settings, str(uuid4()), 3)
    abort_unheard(sink.work.settings, sink.name, 3)
    with refused(ErrorCode.SINK_SLOT_LOST, "nothing was committed"):
        sink.commit(written)


def test_a_slow_task_is_not_taken_for_a_lost_one(bootstrap: str, topic: str) -> None:
    sink = Sink(bootstrap, topic, timeout_ms=1000)

    def slowly() -> Iterator[pa.RecordBatch]:
        for value in ("a", "b"):
            time.sleep(1.5)
            yield pa.RecordBatch.from_pydict({"value": [value]})

    early = sink.task(0, 0, "early")
    late = sink.task_of(0, 1, slowly())
    sink.commit(early, late)
    wait_for(lambda: sorted(sink.seen()) == ["a", "b", "early"], "the markers")


def test_a_group_of_which_nothing_is_heard_is_given_up_whole(own_broker: StartBroker) -> None:
    broker = own_broker({"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"})
    topic = create_topic(broker.bootstrap)
    sink = Sink(broker.bootstrap, topic, timeout_ms=1000)
    first, second = sink.task(0, 0, "a"), sink.task(0, 1, "b")
    link = link_to(sink.work.settings)
    asked = DescribeSinksRequest(sink_ids=[sink.name])

    def given_up() -> bool:
        answer = link.run(link.cluster.ask_coordinator(sink.name, asked, kind=TRANSACTION))
        return not answer.sinks[0].slots

    wait_for(given_up, "the group to be given up")
    with refused(ErrorCode.SINK_SLOT_LOST, "nothing was committed"):
        sink.commit(first, second)
    assert sink.seen() == []
