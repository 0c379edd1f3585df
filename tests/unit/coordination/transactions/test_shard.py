"""Stories of transactional ids: who begins, who takes over, and what time does to them."""

import pytest

from ottla.base.errors import ApiError
from ottla.coordination.transactions.state import Producer, State
from ottla.protocol.errors import ErrorCode
from tests.unit.coordination.transactions.desk import ID, TV1, TV2, A, B, C, Desk

HOUR_MS = 3_600_000

FENCED = ErrorCode.PRODUCER_FENCED
WAIT = ErrorCode.CONCURRENT_TRANSACTIONS


def test_a_transaction_from_its_beginning_to_its_end() -> None:
    desk = Desk()
    producer = desk.init()
    assert producer == Producer(7, 0)
    assert desk.add(producer, A) is None
    assert desk.add(producer, A, B) is None
    assert desk.commit(producer) == Producer(7, 1)
    [markers] = desk.markers
    assert (markers.committed, markers.partitions) == (True, [A, B])
    assert desk.state is State.COMPLETE_COMMIT
    states = [desk.shard.transactions[ID].state]
    assert states == [State.COMPLETE_COMMIT]


def test_adding_what_is_there_writes_nothing() -> None:
    desk = Desk()
    producer = desk.init()
    desk.add(producer, A, B)
    written = len(desk.log)
    assert desk.add(producer, B) is None
    assert len(desk.log) == written


def test_a_new_producer_aborts_the_transaction_of_the_old_one() -> None:
    desk = Desk()
    old = desk.init()
    desk.add(old, A)
    assert desk.init() == WAIT
    assert (desk.state, desk.markers[-1].committed) == (State.COMPLETE_ABORT, False)
    new = desk.init()
    assert new == Producer(7, 2)
    assert desk.add(old, A) == FENCED
    assert desk.commit(old) == FENCED
    assert desk.commit(old, TV1) == FENCED
    assert desk.add(new, A) is None


def test_nothing_begins_while_markers_are_under_way() -> None:
    desk = Desk()
    producer = desk.init()
    desk.add(producer, A, B)
    desk.hold_markers()
    following = desk.commit(producer)
    assert desk.add(following, C) == WAIT
    assert desk.init() == WAIT
    assert desk.init(following) == WAIT
    desk.release_markers()
    assert desk.add(following, C) is None


def test_the_transaction_is_complete_with_its_last_marker() -> None:
    desk = Desk()
    producer = desk.init()
    desk.add(producer, A, B)
    desk.hold_markers()
    desk.commit(producer)
    [markers] = desk.held or []
    desk.carry_out(desk.shard.markers_written(markers, [A], desk.now_ms))
    assert desk.state is State.PREPARE_COMMIT
    desk.carry_out(desk.shard.markers_written(markers, [B], desk.now_ms))
    assert desk.state is State.COMPLETE_COMMIT
    assert not desk.shard.markers_written(markers, [B], desk.now_ms).records


def test_markers_that_are_missing_are_written_again() -> None:
    desk = Desk()
    producer = desk.init()
    desk.add(producer, A, B)
    desk.hold_markers()
    desk.commit(producer)
    [markers] = desk.held or []
    desk.carry_out(desk.shard.markers_written(markers, [A], desk.now_ms))
    desk.held = None
    desk.pass_time(1_000)
    assert desk.markers[-1].partitions == [B]
    assert desk.state is State.COMPLETE_COMMIT


def test_a_marker_that_is_told_of_twice_does_not_complete_the_next_transaction() -> None:
    desk = Desk()
    producer = desk.init()
    desk.add(producer, A, version=TV1)
    desk.commit(producer, TV1)
    [first] = desk.markers
    desk.pass_time(1)
    assert desk.add(producer, A, version=TV1) is None
    desk.hold_markers()
    desk.abort(producer, TV1)
    assert not desk.shard.markers_written(first, [A], desk.now_ms).records
    assert desk.state is State.PREPARE_ABORT
    desk.release_markers()
    assert desk.state is State.COMPLETE_ABORT


def test_what_was_decided_before_a_crash_is_completed_after_it() -> None:
    desk = Desk()
    producer = desk.init()
    desk.add(producer, A, B)
    desk.hold_markers()
    desk.commit(producer)
    desk.held = None
    desk.restart()
    assert (desk.markers[-1].committed, desk.markers[-1].partitions) == (True, [A, B])
    assert desk.state is State.COMPLETE_COMMIT


def test_a_transaction_that_takes_too_long_is_aborted() -> None:
    desk = Desk(transaction_abort_interval_ms=1_000)
    producer = desk.init(timeout_ms=5_000)
    desk.add(producer, A)
    for _ in range(5):
        desk.pass_time(1_000)
        assert desk.state is State.ONGOING
    desk.pass_time(1_000)
    assert desk.state is State.COMPLETE_ABORT
    assert desk.commit(producer) == FENCED, "not INVALID_TXN_STATE, which is fatal (KAFKA-20785)"
    assert desk.abort(producer) == Producer(7, 1), "who gives it up anyway may go on"


def test_the_clock_of_a_transaction_begins_with_its_first_partition() -> None:
    desk = Desk(transaction_abort_interval_ms=1_000)
    producer = desk.init(timeout_ms=5_000)
    desk.pass_time(60_000)
    desk.add(producer, A)
    desk.pass_time(4_000)
    desk.add(producer, B)
    assert desk.found().started_ms == desk.now_ms - 4_000
    desk.pass_time(2_000)
    assert desk.state is State.COMPLETE_ABORT


@pytest.mark.parametrize("by_ms", [HOUR_MS, -HOUR_MS])
def test_a_clock_that_is_set_times_nobody_out_and_spares_nobody(by_ms: int) -> None:
    desk = Desk(transaction_abort_interval_ms=1_000)
    desk.pass_time(2 * HOUR_MS)
    producer, other = desk.init(timeout_ms=5_000), desk.init(timeout_ms=5_000, id="other")
    desk.add(producer, A)
    desk.pass_time(2_000)
    desk.set_clock(by_ms)
    desk.add(producer, B)
    desk.add(other, A, id="other")
    assert desk.found().started_ms == desk.now_ms - by_ms - 2_000, "the log goes by the time of day"
    desk.pass_time(3_000)
    assert desk.state is State.ONGOING
    desk.pass_time(1_000)
    assert desk.state is State.COMPLETE_ABORT
    assert desk.found("other").state is State.ONGOING
    desk.pass_time(1_000)
    desk.pass_time(1_000)
    assert desk.found("other").state is State.COMPLETE_ABORT


@pytest.mark.parametrize("by_ms", [HOUR_MS, -HOUR_MS])
def test_the_next_transaction_knows_nothing_of_a_clock_that_was_set_before(by_ms: int) -> None:
    desk = Desk(transaction_abort_interval_ms=1_000)
    desk.pass_time(2 * HOUR_MS)
    producer = desk.init(timeout_ms=5_000)
    desk.add(producer, A)
    desk.set_clock(by_ms)
    desk.add(desk.commit(producer), A)
    desk.pass_time(5_000)
    assert desk.state is State.ONGOING
    desk.pass_time(1_000)
    assert desk.state is State.COMPLETE_ABORT


@pytest.mark.parametrize("by_ms", [HOUR_MS, -HOUR_MS])
def test_markers_are_written_again_as_soon_as_if_nobody_had_set_the_clock(by_ms: int) -> None:
    desk = Desk()
    producer = desk.init()
    desk.add(producer, A)
    desk.hold_markers()
    desk.commit(producer)
    desk.set_clock(by_ms)
    desk.pass_time(999)
    assert len(desk.held or ()) == 1
    desk.pass_time(1)
    assert len(desk.held or ()) == 2


def test_ids_expire_by_the_time_of_day() -> None:
    desk = Desk(transactional_id_expiration_ms=HOUR_MS)
    desk.init()
    desk.set_clock(HOUR_MS)
    assert ID in desk.shard.transactions, "it is not looked for sooner"
    desk.pass_time(desk.config.transaction_remove_expired_interval_ms)
    assert ID not in desk.shard.transactions


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_a_time_out_must_be_within_reason(timeout_ms: int) -> None:
    desk = Desk()
    assert desk.init(timeout_ms=timeout_ms) == ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert not desk.log


def test_a_producer_goes_on_after_an_error() -> None:
    desk = Desk()
    first = desk.init()
    second = desk.init(first)
    assert second == Producer(7, 1)
    assert desk.init(first) == second, "the answer was lost, and asked for again"
    assert desk.init(second) == Producer(7, 2)
    assert desk.init(first) == FENCED


def test_who_was_replaced_cannot_go_on() -> None:
    desk = Desk()
    old = desk.init()
    new = desk.init()
    assert desk.init(old) == FENCED
    desk.add(new, A)
    assert desk.init(old) == FENCED
    assert desk.state is State.ONGOING, "and does not disturb the one who took over"
    assert desk.init(Producer(999, 0)) == FENCED


def test_a_lost_answer_to_the_end_is_made_good_by_going_on() -> None:
    desk = Desk()
    producer = desk.init()
    desk.add(producer, A)
    following = desk.commit(producer)
    assert desk.init(producer) == following
    assert desk.init(following) == Producer(7, 2)


def test_ids_that_nobody_uses_are_forgotten() -> None:
    desk = Desk(transactional_id_expiration_ms=10_000, transaction_remove_expired_interval_ms=1_000)
    idle, busy = desk.init(id="idle"), desk.init(id="busy", timeout_ms=900_000)
    desk.add(busy, A, id="busy")
    desk.pass_time(20_000)
    assert set(desk.shard.transactions) == {"busy"}
    assert desk.log[-1][1] is None
    assert desk.add(idle, A, id="idle") == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert desk.init(idle, id="idle").epoch == 0


def test_many_expired_ids_go_in_pieces() -> None:
    desk = Desk(transactional_id_expiration_ms=10_000, transaction_remove_expired_interval_ms=1_000)
    for number in range(2_500):
        desk.init(id=f"run-{number}")
    desk.pass_time(20_000)
    assert len(desk.shard.transactions) == 1_500
    desk.pass_time(0)
    desk.pass_time(0)
    assert not desk.shard.transactions


def test_partitions_are_verified_one_by_one() -> None:
    desk = Desk()
    producer = desk.init()
    desk.add(producer, A)
    verify = desk.shard.verify
    assert verify(ID, producer, [A, B]) == {A: 0, B: ErrorCode.TRANSACTION_ABORTABLE}
    assert verify(ID, Producer(7, 9), [A]) == {A: FENCED}
    assert verify(ID, Producer(8, 0), [A]) == {A: ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    assert verify("nobody", producer, [A]) == {A: ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    desk.hold_markers()
    following = desk.commit(producer)
    assert verify(ID, following, [A]) == {A: WAIT}
    desk.release_markers()
    with pytest.raises(ApiError):
        desk.shard.check_within(ID, following, A)


def test_one_id_may_change_between_the_versions() -> None:
    desk = Desk()
    producer = desk.init()
    desk.add(producer, A, version=TV1)
    assert desk.commit(producer, TV1) == producer
    desk.add(producer, A, version=TV2)
    following = desk.abort(producer, TV2)
    assert following == Producer(7, 1)
    desk.add(following, A, version=TV1)
    assert desk.commit(following, TV1) == following


def test_while_too_many_are_open_the_next_producer_waits() -> None:
    desk = Desk(max_open_transactions=1)
    first, second = desk.init(), desk.init(id="refunds")
    assert desk.add(first, A) is None
    assert desk.add(second, A, id="refunds") == ErrorCode.CONCURRENT_TRANSACTIONS
    assert desk.add(first, B) is None  # whoever is inside goes on
    desk.commit(first)
    assert desk.add(second, A, id="refunds") is None
