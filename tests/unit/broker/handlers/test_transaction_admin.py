"""What brokers and operators ask of transactions: verify, describe, list, and end by force."""

import uuid
from collections.abc import Callable
from contextlib import closing
from typing import Any

from ottla.protocol.apis.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from ottla.protocol.apis.describe_transactions import DescribeTransactionsRequest
from ottla.protocol.apis.init_producer_id import InitProducerIdRequest
from ottla.protocol.apis.list_transactions import ListTransactionsRequest
from ottla.protocol.apis.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.transacting import Transactor, committed


def verify(
    client: Client, producer: Transactor, topic: str, version: int = 5, **fields: Any
) -> list[int]:
    transaction = AddPartitionsToTxnTransaction(
        **{
            "transactional_id": producer.id,
            "producer_id": producer.producer_id,
            "producer_epoch": producer.epoch,
            "verify_only": True,
            "topics": [AddPartitionsToTxnTopic(name=topic, partitions=[0, 1])],
            **fields,
        }
    )
    [result] = client.ask(
        AddPartitionsToTxnRequest(transactions=[transaction]), version
    ).results_by_transaction
    assert result.transactional_id == transaction.transactional_id
    return [
        partition.partition_error_code
        for row in result.topic_results
        for partition in row.results_by_partition
    ]


def test_brokers_ask_whether_a_partition_is_in_the_transaction(client: Client) -> None:
    topic = client.new_topic(partitions=2)
    producer = Transactor(client)
    producer.send(topic)
    abortable = ErrorCode.TRANSACTION_ABORTABLE
    assert verify(client, producer, topic) == [0, abortable]
    assert verify(client, producer, topic, producer_epoch=9) == [ErrorCode.PRODUCER_FENCED] * 2
    mapping = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert verify(client, producer, topic, transactional_id=f"{uuid.uuid4()}") == [mapping] * 2
    assert verify(client, producer, topic, transactional_id="") == [ErrorCode.INVALID_REQUEST] * 2
    assert verify(client, producer, topic, verify_only=False) == [0, 0]
    assert verify(client, producer, topic) == [0, 0]


def test_a_transaction_is_described(client: Client) -> None:
    topic = client.new_topic(partitions=2)
    producer = Transactor(client)
    empty = producer.describe()
    assert (empty.error_code, empty.transaction_state, empty.topics) == (0, "Empty", [])
    assert empty.transaction_start_time_ms == -1
    producer.send(topic, partition=1)
    found = producer.describe()
    assert (found.transaction_state, found.transaction_timeout_ms) == ("Ongoing", 60_000)
    assert (found.producer_id, found.producer_epoch) == (producer.producer_id, producer.epoch)
    assert [(row.topic, row.partitions) for row in found.topics] == [(topic, [1])]
    assert found.transaction_start_time_ms > 0
    producer.finish(False)
    assert producer.describe().transaction_state == "CompleteAbort"


def test_ids_that_nobody_used_are_not_found(client: Client) -> None:
    Transactor(client)
    ids = [f"{uuid.uuid4()}", ""]
    answers = client.ask(DescribeTransactionsRequest(transactional_ids=ids), 0).transaction_states
    assert [(answer.transactional_id, answer.error_code) for answer in answers] == [
        (ids[0], ErrorCode.TRANSACTIONAL_ID_NOT_FOUND),
        ("", ErrorCode.INVALID_REQUEST),
    ]


def listed(client: Client, version: int = 2, **filters: Any) -> dict[str, str]:
    answer = client.ask(ListTransactionsRequest(**filters), version)
    assert answer.error_code == 0
    return {row.transactional_id: row.transaction_state for row in answer.transaction_states}


def test_transactions_are_listed_by_what_is_asked_of_them(client: Client) -> None:
    topic = client.new_topic()
    prefix = uuid.uuid4().hex
    idle, busy = Transactor(client, f"{prefix}-idle"), Transactor(client, f"{prefix}-busy")
    busy.send(topic)
    states = {idle.id: "Empty", busy.id: "Ongoing"}
    assert listed(client).items() >= states.items()
    assert listed(client, 0).items() >= states.items()
    assert busy.id in listed(client, state_filters=["Ongoing"])
    assert idle.id not in listed(client, state_filters=["Ongoing"])
    assert listed(client, producer_id_filters=[idle.producer_id]) == {idle.id: "Empty"}
    assert listed(client, transactional_id_pattern=f"{prefix}-b.*") == {busy.id: "Ongoing"}
    assert busy.id not in listed(
        client, duration_filter=60_000, producer_id_filters=[busy.producer_id]
    )
    wait_for(lambda: busy.id in listed(client, duration_filter=1), "a millisecond to pass")


def test_filters_that_mean_nothing_are_told(client: Client) -> None:
    Transactor(client)
    answer = client.ask(ListTransactionsRequest(state_filters=["Ongoing", "Sleepy"]), 2)
    assert answer.unknown_state_filters == ["Sleepy"]
    broken = client.ask(ListTransactionsRequest(transactional_id_pattern="("), 2)
    assert broken.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def force(
    client: Client, topic: str, producer: Transactor, outcome: bool, version: int = 2, **fields: int
) -> int:
    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=fields.pop("epoch", producer.epoch),
        transaction_result=outcome,
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[0])],
        coordinator_epoch=fields.pop("coordinator_epoch", 0),
        **fields,
    )
    [result] = client.ask(WriteTxnMarkersRequest(markers=[marker]), version).markers
    assert result.producer_id == producer.producer_id
    return int(result.topics[0].partitions[0].error_code)


def test_a_hanging_transaction_is_ended_by_force(client: Client) -> None:
    for version in (1, 2):
        topic = client.new_topic()
        producer = Transactor(client)
        producer.send(topic, b"hanging")
        assert force(client, topic, producer, False, version) == 0
        assert committed(client, topic) == []
        producer.finish(True)
        assert committed(client, topic) == []


def test_a_marker_must_be_newer_than_what_it_ends(client: Client) -> None:
    topic = client.new_topic()
    producer = Transactor(client)
    producer.send(topic)
    producer.finish(True)
    producer.send(topic)
    invalid = ErrorCode.INVALID_PRODUCER_EPOCH
    assert force(client, topic, producer, True, epoch=0) == invalid
    assert force(client, topic, producer, True, transaction_version=2) == invalid
    assert force(client, topic, producer, True, epoch=2, transaction_version=2) == 0
    assert force(client, "no-such-topic", producer, True) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_number_of_transactional_ids_is_limited(
    own_broker: Callable[..., OttlaBroker],
) -> None:
    broker = own_broker({"ottla.max.transactional.ids": "2"})
    with closing(Client(broker.bootstrap)) as client:
        first = Transactor(client)
        Transactor(client)
        request = InitProducerIdRequest(transactional_id="third", transaction_timeout_ms=60_000)
        assert client.ask(request).error_code == ErrorCode.POLICY_VIOLATION
        assert first.init().error_code == 0
