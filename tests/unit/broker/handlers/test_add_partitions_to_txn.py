"""AddPartitionsToTxn: clients add partitions one transaction at a time, brokers verify many."""

import uuid
from typing import Any

from ottla.protocol.apis.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.transacting import Transactor

OLD = {"produce": 9, "end": 3}


def test_every_version_for_clients_adds_partitions(client: Client) -> None:
    topic = client.new_topic(partitions=2)
    producer = Transactor(client, **OLD)
    for version in range(4):
        assert producer.add(topic, 0, 1, version=version) == {0}
        assert producer.add(topic, epoch=99, version=version) == {
            ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
        }
    assert [row.partitions for row in producer.describe().topics] == [[0, 1]]


def test_a_partition_that_does_not_exist_spoils_the_others(client: Client) -> None:
    topic = client.new_topic()
    producer = Transactor(client, **OLD)
    assert producer.add(topic, 0, 9) == {
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert producer.add("no-such-topic", 0) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert producer.describe().transaction_state == "Empty"


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
