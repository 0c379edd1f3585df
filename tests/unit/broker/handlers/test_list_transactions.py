"""ListTransactions: all transactional ids, or those that pass the filters."""

import uuid
from typing import Any

from ottla.protocol.apis.list_transactions import ListTransactionsRequest
from ottla.protocol.errors import ErrorCode
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.transacting import Transactor


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
