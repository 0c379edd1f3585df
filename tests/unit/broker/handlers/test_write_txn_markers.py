"""WriteTxnMarkers: transactions are ended in a partition, by coordinators and by operators."""

from collections.abc import Callable
from contextlib import closing

import pytest

from ottla.protocol.apis.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.brokers import introduced
from tests.unit.broker.handlers.transacting import Transactor, committed


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


@pytest.mark.parametrize(
    "forged", [{"coordinator_epoch": 2**31 - 1}, {"epoch": 32_767}, {"coordinator_epoch": 1000}]
)
@pytest.mark.parametrize("open_before", [True, False])
def test_a_forged_marker_does_not_keep_the_coordinator_from_committing(
    client: Client, forged: dict[str, int], open_before: bool
) -> None:
    topic = client.new_topic()
    producer = Transactor(client)
    producer.send(topic, b"first")
    if not open_before:
        producer.finish(True)
    assert force(client, topic, producer, False, **forged) != 0 or not open_before
    if open_before:
        producer.finish(True)
    producer.send(topic, b"second")
    producer.finish(True)
    assert committed(client, topic) == [b"first", b"second"]


def test_not_even_a_broker_may_use_an_epoch_that_no_coordinator_has_had(
    own_broker: Callable[[], OttlaBroker],
) -> None:
    broker = own_broker()
    with closing(Client(broker.bootstrap)) as client, closing(introduced(broker)) as coordinator:
        topic = client.new_topic()
        producer = Transactor(client)
        producer.send(topic, b"first")
        assert force(coordinator, topic, producer, True, coordinator_epoch=0) == 0
        producer.send(topic, b"second")
        forged = {"coordinator_epoch": 1000, "epoch": producer.epoch + 1}
        refusal = force(coordinator, topic, producer, False, **forged)
        assert refusal == ErrorCode.COORDINATOR_NOT_AVAILABLE
        producer.finish(True)
        assert committed(client, topic) == [b"first", b"second"]


def test_a_marker_on_a_connection_that_the_coordinator_has_given_up_ends_nothing(
    own_broker: Callable[[], OttlaBroker],
) -> None:
    broker = own_broker()
    with (
        closing(Client(broker.bootstrap)) as client,
        closing(introduced(broker)) as given_up,
        closing(introduced(broker)) as coordinator,
    ):
        topic = client.new_topic()
        producer = Transactor(client, produce=9, end=3)
        assert force(coordinator, topic, producer, True) == 0
        assert producer.add(topic) == {0}
        assert producer.send(topic, b"not yet") == 0
        with pytest.raises(EOFError):
            force(given_up, topic, producer, True)
        assert producer.describe().transaction_state == "Ongoing"
        producer.finish(False)
        assert committed(client, topic) == []
