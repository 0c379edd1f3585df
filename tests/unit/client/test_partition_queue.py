"""Batches of one partition stay in order and keep their sequences, whatever becomes of each of them."""

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ottla.base.ids import TopicPartition
from ottla.client.partition_queue import ANONYMOUS, Batch, Identity, PartitionQueue
from ottla.protocol.records.record import read_records

FIRST, SECOND = Identity(7, 0), Identity(7, 1)


def queue_of(count: int, records: int = 3) -> PartitionQueue[None]:
    queue: PartitionQueue[None] = PartitionQueue(TopicPartition("t", 0))
    for _ in range(count):
        add(queue, records)
    return queue


def add(queue: PartitionQueue[None], records: int) -> None:
    batch = queue.draft(1 << 20, 0, None)
    for n in range(records):
        batch.encoder.append(None, b"%d" % n, (), 0)
    queue.open(batch)


def take(queue: PartitionQueue[None], identity: Identity = FIRST) -> Batch[None]:
    batch = queue.take(identity)
    assert batch is not None
    return batch


def test_sequences_count_records() -> None:
    queue = queue_of(3)
    assert [take(queue).sequence for _ in range(3)] == [0, 3, 6]


def test_without_idempotence_there_are_no_sequences() -> None:
    assert take(queue_of(1), ANONYMOUS).sequence == -1


def test_a_batch_sent_again_keeps_its_sequence_and_its_bytes() -> None:
    queue = queue_of(1)
    batch = take(queue)
    wire = batch.encode(0, None)
    queue.retry(batch, 0)
    again = take(queue)
    assert (again.sequence, again.attempts, again.encode(0, None)) == (0, 2, wire)


def test_nothing_is_sent_again_before_what_overtook_it_is_back() -> None:
    queue = queue_of(3)
    first, second = take(queue), take(queue)
    queue.retry(first, 0)
    assert queue.take(FIRST) is None
    queue.retry(second, 0)
    assert [take(queue) for _ in range(2)] == [first, second]


def test_a_new_epoch_begins_at_zero_once_the_old_one_is_out_of_use() -> None:
    queue = queue_of(3)
    first, second = take(queue), take(queue)
    queue.done(first)
    assert queue.take(SECOND) is None
    queue.retry(second, 0)
    again = take(queue, SECOND)
    assert (again, again.identity, again.sequence) == (second, SECOND, 0)
    assert take(queue, SECOND).sequence == 3


def test_sequences_wrap_to_zero() -> None:
    queue = queue_of(2)
    queue._identity, queue._next_sequence = FIRST, 2**31 - 1
    assert [take(queue).sequence, take(queue).sequence] == [2**31 - 1, 2]


def test_a_batch_that_is_too_large_is_sent_in_two_parts_in_its_place() -> None:
    queue = queue_of(2, records=3)
    first, second = take(queue), take(queue)
    queue.split(first, (None, None))
    queue.retry(second, 0)
    parts = [take(queue) for _ in range(3)]
    assert [(part.sequence, part.encoder.count) for part in parts] == [(0, 1), (1, 2), (3, 3)]
    values = [r.value for part in parts[:2] for r in read_records(part.encode(0, None))]
    assert values == [b"0", b"1", b"2"]


@given(st.integers(0, 5))
def test_only_what_waits_can_expire(sent: int) -> None:
    queue = queue_of(5)
    for _ in range(sent):
        take(queue)
    assert len(list(queue.expired(created_before_ms=0))) == 5 - sent
    assert len(queue.in_flight) == sent


class Sending(RuleBasedStateMachine):
    """A broker that takes batches only in sequence, behind a network that fails as it likes."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = queue_of(0)
        self.written: list[int] = []
        self.expected = 0

    @rule(records=st.integers(1, 3))
    def send(self, records: int) -> None:
        add(self.queue, records)

    @precondition(lambda self: len(self.queue.in_flight) < 5)
    @rule()
    def take(self) -> None:
        if self.queue.waiting:
            self.queue.take(FIRST)

    @precondition(lambda self: self.queue.in_flight)
    @rule(lost=st.booleans())
    def answer(self, lost: bool) -> None:
        """The broker answers in the order it was asked: out of sequence is refused, a repetition welcome."""
        batch = self.queue.in_flight[0]
        if batch.sequence > self.expected:
            self.queue.retry(batch, 0)
            return
        if batch.sequence == self.expected:
            self.expected += batch.encoder.count
            self.written += range(batch.sequence, batch.sequence + batch.encoder.count)
        if lost:
            self.queue.retry(batch, 0)
        else:
            self.queue.done(batch)

    @precondition(lambda self: self.queue.in_flight)
    @rule()
    def find_too_large(self) -> None:
        batch = self.queue.in_flight[0]
        if batch.sequence == self.expected and batch.encoder.count > 1:
            self.queue.split(batch, (None, None))

    @precondition(lambda self: self.queue.in_flight)
    @rule()
    def lose_request(self) -> None:
        self.queue.retry(self.queue.in_flight[0], 0)

    @invariant()
    def written_once_and_in_order(self) -> None:
        assert self.written == list(range(len(self.written)))


TestSending = Sending.TestCase
