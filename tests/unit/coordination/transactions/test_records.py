"""Records of `__transaction_state`: what Kafka 4.3 wrote is read, and written again byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.base.errors import ProtocolError
from ottla.base.ids import TopicPartition
from ottla.coordination.decision import UnknownRecord
from ottla.coordination.transactions.records import (
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)
from ottla.coordination.transactions.state import State, Transaction

# Taken from the log of a Kafka 4.3.0 broker: a librdkafka producer (transaction version 1) and a Java one (2).
KAFKAS_KEY = bytes.fromhex("0000000572642d7478")
KAFKAS = {
    "a new producer": (
        "0001000000000000000000000000ea600000000001a1e1b9e19bffffffffffffffff0100080000000000000000"
    ),
    "v1 begins": (
        "0001000000000000000000000000ea6001020274020000000000000001a1e1b9e2af000001a1e1b9"
        "e2af0100080000000000000000"
    ),
    "v1 complete": (
        "0001000000000000000000000000ea600401000001a1e1b9e230000001a1e1b9e1e10100080000000000000000"
    ),
    "fenced": (
        "0001000000000000000000010000ea6003020274020000000000000001a1e1b9e2fb000001a1e1b9"
        "e2af020008000000000000000002020002"
    ),
    "v2 commits": (
        "0001000000000000000200010000ea6002020274020000000100000001a1e1b9ee43000001a1e1b9"
        "ec5d020008000000000000000202020002"
    ),
    "v2 complete": (
        "0001000000000000000200010000ea600401000001a1e1b9ee44000001a1e1b9ec5d020008000000"
        "000000000202020002"
    ),
}


@pytest.mark.parametrize("what", KAFKAS)
def test_kafkas_own_bytes_come_back_the_same(what: str) -> None:
    written = bytes.fromhex(KAFKAS[what])
    assert encode_value(decode_value(written)) == written


def test_a_commit_by_a_java_producer_reads_as_it_was() -> None:
    assert decode_value(bytes.fromhex(KAFKAS["v2 commits"])) == Transaction(
        producer_id=2,
        epoch=1,
        timeout_ms=60_000,
        state=State.PREPARE_COMMIT,
        partitions=frozenset({TopicPartition("t", 1)}),
        updated_ms=1794788421187,
        started_ms=1794788420701,
        previous_producer_id=2,
        client_version=2,
    )


def test_the_key_is_the_transactional_id() -> None:
    assert decode_key(KAFKAS_KEY) == "rd-tx"
    assert encode_key("rd-tx") == KAFKAS_KEY


def test_keys_of_a_kind_not_known_yet_are_passed_over() -> None:
    with pytest.raises(UnknownRecord):
        decode_key(b"\x00\x05whatever")


def test_the_first_version_of_the_value_is_read() -> None:
    old = bytes.fromhex(
        "0000" "0000000000000009" "0003" "00001388" "01" "00000001" "0001" "74" "00000001" "00000002"
    ) + bytes.fromhex("00000000000003e8" "00000000000003e7")  # fmt: skip
    found = decode_value(old)
    assert (found.producer_id, found.epoch, found.timeout_ms) == (9, 3, 5_000)
    assert (found.state, found.partitions) == (State.ONGOING, {TopicPartition("t", 2)})
    assert (found.updated_ms, found.started_ms, found.client_version) == (1_000, 999, 0)


def test_fields_that_a_later_kafka_adds_do_not_disturb() -> None:
    known = bytes.fromhex(KAFKAS["v2 complete"])
    # Three tagged fields instead of two; the third, 9, is of three bytes.
    later = known.replace(b"\x02\x00\x08", b"\x03\x00\x08") + b"\x09\x03abc"
    assert decode_value(later) == decode_value(known)


@pytest.mark.parametrize("broken", [b"", b"\x00\x02", b"\x00\x01\x00", b"\x00\x01" + b"\x63" * 40])
def test_broken_bytes_are_told(broken: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_value(broken)


@pytest.mark.parametrize("count", [0, 1, 16, 17, 500])
def test_a_transaction_of_any_number_of_partitions_comes_back(count: int) -> None:
    partitions = frozenset(TopicPartition(f"topic-{number % 7}", number) for number in range(count))
    transaction = Transaction(9, 3, 60_000, State.ONGOING, partitions, 1_000, 999)
    assert decode_value(encode_value(transaction)) == transaction


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)
PARTITIONS = st.builds(TopicPartition, NAMES, st.integers(0, 2**31 - 1))
LONGS = st.integers(-1, 2**63 - 1)
EPOCHS = st.integers(-1, 2**15 - 1)


@given(
    NAMES,
    st.builds(
        Transaction,
        producer_id=LONGS,
        epoch=EPOCHS,
        timeout_ms=st.integers(0, 2**31 - 1),
        state=st.sampled_from([state for state in State if state is not State.EMPTY]),
        partitions=st.frozensets(PARTITIONS),
        updated_ms=LONGS,
        started_ms=LONGS,
        previous_producer_id=LONGS,
        next_producer_id=LONGS,
        next_epoch=EPOCHS,
        client_version=st.integers(0, 2),
    ),
)
def test_whatever_is_remembered_comes_back(name: str, transaction: Transaction) -> None:
    assert decode_key(encode_key(name)) == name
    assert decode_value(encode_value(transaction)) == transaction
