"""AddOffsetsToTxn: the partition that keeps a group's offsets joins the transaction."""

import uuid
from collections.abc import Callable
from contextlib import closing

import pytest

from ottla.protocol.apis.add_offsets_to_txn import AddOffsetsToTxnRequest
from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.transacting import Transactor

OLD = {"produce": 9, "end": 3}


def add(producer: Transactor, group: str, version: int = 3, **who: int) -> int:
    request = AddOffsetsToTxnRequest(
        transactional_id=producer.id,
        producer_id=who.get("producer_id", producer.producer_id),
        producer_epoch=who.get("epoch", producer.epoch),
        group_id=group,
    )
    return int(producer.ask(request, version).error_code)


@pytest.mark.parametrize("version", range(5))
def test_the_offsets_partition_joins_the_transaction(client: Client, version: int) -> None:
    producer = Transactor(client, **OLD)
    assert add(producer, f"group-{uuid.uuid4()}", version) == 0
    found = producer.describe()
    assert found.transaction_state == "Ongoing"
    assert [row.topic for row in found.topics] == ["__consumer_offsets"]
    producer.finish(True)


def test_the_first_group_of_all_need_not_ask_twice(own_broker: Callable[..., OttlaBroker]) -> None:
    # KafkaJS does not: that the coordinator is being loaded is an error to its users.
    with closing(Client(own_broker().bootstrap)) as client:
        assert add(Transactor(client, **OLD), "group") == 0


@pytest.mark.parametrize("version", range(5))
def test_strangers_and_zombies_are_refused(client: Client, version: int) -> None:
    producer = Transactor(client, **OLD)
    mapping = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    fenced = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert add(producer, "group", version, producer_id=2**40) == mapping
    assert add(producer, "group", version, epoch=99) == fenced
    producer.id = f"{uuid.uuid4()}"
    assert add(producer, "group", version) == mapping
