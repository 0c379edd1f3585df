"""InitProducerId: every idempotent producer gets an id that nobody else has."""

import pytest

from ottla.protocol.apis.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client


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
