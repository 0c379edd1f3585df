"""Records become batches: when one is full, has lingered, is flushed, or has waited too long."""

from ottla.base.ids import TopicPartition
from ottla.client.accumulator import NEVER_MS, Accumulator
from ottla.client.partition_queue import Batch

TARGET = TopicPartition("t", 0)


def accumulator(batch_size: int = 1000, linger_ms: float = 50) -> Accumulator[str]:
    return Accumulator(
        batch_size=batch_size,
        linger_ms=linger_ms,
        delivery_timeout_ms=1000,
        new_outcome=lambda target: f"outcome for {target}",
    )


def add(to: Accumulator[str], value: bytes = b"v", now_ms: int = 0, n: int = 0) -> Batch[str]:
    queue = to.queue(TopicPartition("t", n))
    batch = to.append(queue, None, value, (), 0)
    return batch or to.open(queue, None, value, (), 0, now_ms)


def test_a_batch_lingers_for_more_records() -> None:
    made = accumulator()
    first = add(made, now_ms=100)
    assert made.ready_at_ms(made.queue(TARGET)) == 150
    assert add(made, now_ms=120) is first
    assert (first.encoder.count, first.outcome) == (2, "outcome for t-0")


def test_a_full_batch_is_ready_at_once() -> None:
    made = accumulator()
    first = add(made, bytes(600), now_ms=100)
    assert add(made, bytes(600), now_ms=100) is not first
    assert made.ready_at_ms(made.queue(TARGET)) == 0


def test_flushing_makes_everything_ready() -> None:
    made = accumulator()
    add(made, now_ms=100)
    made.flushing = 1
    assert made.ready_at_ms(made.queue(TARGET)) == 0


def test_records_after_a_batch_was_sent_begin_a_new_one() -> None:
    made = accumulator()
    first = add(made)
    assert made.take(made.queue(TARGET)) is first
    second = add(made)
    assert second is not first
    made.retry(first, not_before_ms=500)
    assert made.ready_at_ms(made.queue(TARGET)) == 500
    assert add(made) is second


def test_a_batch_that_was_filled_elsewhere_waits_behind_the_others() -> None:
    made = accumulator()
    first = add(made)
    other = Batch(TARGET, 0, 1000, 0, "elsewhere")
    other.encoder.append(None, b"v", (), 0)
    made.enqueue(other)
    assert made.buffered_bytes == first.encoder.size_bytes + other.encoder.size_bytes
    assert [made.take(made.queue(TARGET)) for _ in range(2)] == [first, other]
    assert first.number < other.number


def test_memory_is_given_back_when_a_batch_is_done() -> None:
    made = accumulator()
    batch = add(made, bytes(100))
    assert made.buffered_bytes == batch.encoder.size_bytes
    made.take(made.queue(TARGET))
    made.done(batch)
    assert (made.buffered_bytes, made.busy(), made.unfinished()) == (0, [], [])


def test_what_waited_too_long_is_given_up() -> None:
    made = accumulator()
    add(made, now_ms=100)
    later = add(made, now_ms=600, n=1)
    assert made.next_expiry_ms() == 1100
    assert [batch.target.partition for batch in made.expired(1100)] == [0]
    assert made.unfinished() == [later]
    assert made.buffered_bytes == later.encoder.size_bytes


def test_an_empty_accumulator_expects_nothing() -> None:
    assert accumulator().next_expiry_ms() >= NEVER_MS


def test_partitions_are_served_in_turn() -> None:
    made = accumulator(linger_ms=0)
    for n in range(3):
        add(made, n=n)
    made.take(made.queue(TARGET))
    assert [queue.target.partition for queue in made.busy()] == [1, 2, 0]
