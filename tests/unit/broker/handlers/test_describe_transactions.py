"""DescribeTransactions: where a transactional id stands."""

import uuid

from ottla.protocol.apis.describe_transactions import DescribeTransactionsRequest
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.transacting import Transactor


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
