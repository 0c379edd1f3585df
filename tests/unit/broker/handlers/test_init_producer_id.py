"""InitProducerId: every producer gets an id that nobody else has, and a transactional one gets it again."""

from collections.abc import Callable
from contextlib import closing

import pytest

from ottla.protocol.apis.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.transacting import Transactor


def init(client: Client, version: int = 5, **fields: object) -> InitProducerIdResponse:
    fields = {"transactional_id": None, "transaction_timeout_ms": 60_000, **fields}
    return client.ask(InitProducerIdRequest(**fields), version)


@pytest.mark.parametrize("version", range(6))
def test_ids_are_fresh_and_start_at_epoch_0(client: Client, version: int) -> None:
    client.new_producer_id()
    answers = [init(client, version) for _ in range(3)]
    assert {(a.error_code, a.producer_epoch) for a in answers} == {(ErrorCode.NONE, 0)}
    ids = [answer.producer_id for answer in answers]
    assert len(set(ids)) == 3
    assert min(ids) >= 0


def test_a_producer_that_had_an_id_gets_another(client: Client) -> None:
    first = init(client)
    again = init(client, producer_id=first.producer_id, producer_epoch=0)
    assert (again.error_code, again.producer_epoch) == (ErrorCode.NONE, 0)
    assert again.producer_id != first.producer_id


@pytest.mark.parametrize("half", [{"producer_id": 5}, {"producer_epoch": 5}])
def test_an_id_without_an_epoch_makes_no_sense(client: Client, half: dict[str, int]) -> None:
    answer = init(client, **half)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert (answer.producer_id, answer.producer_epoch) == (-1, -1)


def test_an_empty_transactional_id_is_refused(client: Client) -> None:
    assert init(client, transactional_id="").error_code == ErrorCode.INVALID_REQUEST


def test_a_producer_goes_on_after_an_error(client: Client) -> None:
    producer = Transactor(client, produce=9, end=3)
    claim = {"producer_id": producer.producer_id, "producer_epoch": 0}
    bumped = producer.init(**claim)
    assert (bumped.producer_id, bumped.producer_epoch) == (producer.producer_id, 1)
    assert producer.init(**claim).producer_epoch == 1
    assert producer.init(**claim | {"producer_epoch": 1}).producer_epoch == 2
    assert producer.init(**claim).error_code == ErrorCode.PRODUCER_FENCED
    assert producer.init(3, **claim).error_code == ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize("timeout_ms", [0, 2**31 - 1])
def test_the_time_out_must_be_within_reason(client: Client, timeout_ms: int) -> None:
    producer = Transactor(client)
    producer.timeout_ms = timeout_ms
    assert producer.init().error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT


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
