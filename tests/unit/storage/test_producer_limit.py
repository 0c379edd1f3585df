"""More producers than a broker wants to remember: the idle ones are forgotten, and memory stays where it is."""

from hypothesis import given
from hypothesis import strategies as st

from ottla.protocol.records.batch import BatchHeader, parse_header
from ottla.storage.producer_limit import ProducerLimit
from ottla.storage.producer_state import ProducerState
from tests.unit.storage.samples import NOW_MS, make_batch


def adopted(limit: ProducerLimit, count: int = 1) -> list[ProducerState]:
    states = [ProducerState() for _ in range(count)]
    for state in states:
        limit.adopt(state)
    return states


def header(producer_id: int, *, transactional: bool = False) -> BatchHeader:
    batch = make_batch(1, producer_id=producer_id, sequence=0, transactional=transactional)
    return parse_header(batch)


def write(state: ProducerState, *producer_ids: int, now_ms: int = NOW_MS) -> None:
    for producer_id in producer_ids:
        state.update(header(producer_id), 0, now_ms)


def test_the_one_silent_for_longest_makes_way() -> None:
    limit = ProducerLimit(3)
    one, other = adopted(limit, 2)
    write(one, 1, now_ms=10)
    write(other, 2, now_ms=20)
    write(one, 3, now_ms=30)
    write(one, 1, now_ms=40)
    write(other, 4, now_ms=50)
    assert (len(one), next(iter(other.entries())).producer_id) == (2, 4)
    assert (limit.count, limit.forgotten) == (3, 1)


def test_whoever_has_a_transaction_open_stays() -> None:
    limit = ProducerLimit(2)
    [state] = adopted(limit)
    for producer_id in (1, 2):
        state.update(header(producer_id, transactional=True), producer_id, 10)
    write(state, 3, now_ms=20)
    assert [each.producer_id for each in state.entries()] == [1, 2, 3]
    write(state, 4, now_ms=30)
    assert sorted(each.producer_id for each in state.entries()) == [1, 2, 4]


def test_one_that_was_forgotten_may_go_on_with_its_sequence() -> None:
    limit = ProducerLimit(1)
    [state] = adopted(limit)
    write(state, 1, now_ms=10)
    write(state, 2, now_ms=20)
    again = parse_header(make_batch(1, producer_id=1, sequence=17))
    assert state.check(again) is None


def test_partitions_that_come_and_go_are_counted() -> None:
    limit = ProducerLimit(2)
    state = ProducerState()
    write(state, 1, 2, 3, 4)
    limit.adopt(state)
    assert limit.count == 4
    [other] = adopted(limit)
    write(other, 5)
    assert limit.count == 3
    write(other, 6)
    assert limit.count == 2
    limit.release(state)
    limit.release(state)
    assert limit.count == len(other)
    write(state, 7)
    assert limit.count == len(other)


def test_of_a_hundred_thousand_producers_the_last_ten_thousand_are_remembered() -> None:
    limit = ProducerLimit(10_000)
    states = adopted(limit, 10)
    newcomer = header(0)
    for number in range(100_000):
        states[number % 10].update(newcomer._replace(producer_id=number), 0, NOW_MS + number)
    assert limit.count == sum(map(len, states)) == 10_000
    remembered = [each.timestamp - NOW_MS for state in states for each in state.entries()]
    assert sum(number >= 80_000 for number in remembered) > 9_000


STEP = st.tuples(st.integers(0, 2), st.integers(0, 12), st.booleans(), st.booleans())


@given(st.lists(STEP, max_size=60), st.integers(1, 6))
def test_the_count_is_always_what_the_partitions_hold(
    steps: list[tuple[int, int, bool, bool]], most: int
) -> None:
    limit = ProducerLimit(most)
    states = adopted(limit, 3)
    for now_ms, (number, producer_id, transactional, expires) in enumerate(steps):
        state = states[number]
        if expires:
            state.expire(now_ms, 3)
        else:
            state.update(header(producer_id, transactional=transactional), now_ms, now_ms)
        assert limit.count == sum(map(len, states))
        idle = [e for s in states for e in s.entries() if e.txn_first_offset < 0]
        assert limit.count <= most or len(idle) <= 1
