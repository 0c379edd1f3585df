"""EndTxn: one outcome, told as often as it is asked for, and never that of another transaction."""

from contextlib import closing

from ottla.protocol.apis.end_txn import EndTxnRequest
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.transacting import Transactor, committed

FENCED = ErrorCode.PRODUCER_FENCED
WRONG = ErrorCode.INVALID_TXN_STATE
OLD = {"produce": 9, "end": 3}
NEW = {"produce": 12, "end": 5}


def test_every_end_brings_a_new_epoch(client: Client) -> None:
    topic = client.new_topic()
    producer = Transactor(client, **NEW)
    for number in range(3):
        assert producer.epoch == number
        producer.send(topic)
        answer = producer.end(True)
        assert (answer.producer_id, answer.producer_epoch) == (producer.producer_id, number + 1)
        producer.take(answer)


def test_an_old_end_keeps_the_epoch(client: Client) -> None:
    topic = client.new_topic()
    producer = Transactor(client, **OLD)
    for _ in range(3):
        assert producer.add(topic) == {0}
        assert producer.send(topic) == 0
        producer.finish(True)
    assert producer.epoch == 0


def test_the_answer_to_an_end_can_be_asked_for_again(client: Client) -> None:
    topic = client.new_topic()
    producer = Transactor(client, **NEW)
    producer.send(topic, b"once")
    first = producer.end(True)
    again = producer.end(True)
    assert (again.error_code, again.producer_epoch) == (0, first.producer_epoch)
    assert producer.end(False).error_code == WRONG
    assert committed(client, topic) == [b"once"]


def test_a_commit_that_is_delayed_past_the_next_transaction_does_not_decide_it(
    client: Client,
) -> None:
    topic = client.new_topic()
    producer = Transactor(client, **NEW)
    producer.send(topic, b"first")
    late = {"producer_id": producer.producer_id, "epoch": producer.epoch}
    producer.finish(True)
    producer.send(topic, b"second")
    assert producer.end(True, **late).error_code == FENCED
    assert producer.describe().transaction_state == "Ongoing"
    producer.finish(False)
    assert committed(client, topic) == [b"first"]


def test_an_old_commit_on_a_connection_that_was_given_up_does_not_decide_the_next_transaction(
    client: Client, bootstrap: str
) -> None:
    topic = client.new_topic()
    producer = Transactor(client, **OLD)
    commit = EndTxnRequest(
        transactional_id=producer.id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        committed=True,
    )
    with closing(Client(bootstrap)) as newer:
        producer.client = newer
        assert producer.add(topic) == {0}
        producer.send(topic, b"first")
        producer.finish(True)
        assert producer.add(topic) == {0}
        producer.send(topic, b"second")
        assert client.ask(commit, OLD["end"]).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
        assert producer.describe().transaction_state == "Ongoing"
        producer.finish(False)
        assert committed(newer, topic) == [b"first"]


def test_an_old_client_with_two_connections_ends_its_transaction_on_either(
    client: Client, bootstrap: str
) -> None:
    topic = client.new_topic()
    producer = Transactor(client, **OLD)
    with closing(Client(bootstrap)) as newer:
        producer.client = newer
        assert producer.add(topic) == {0}
        producer.send(topic, b"mine")
        producer.client = client
        # Refused once, it is asked for again.
        producer.finish(True)
    assert committed(client, topic) == [b"mine"]


def test_who_never_began_cannot_commit(client: Client) -> None:
    producer = Transactor(client, **NEW)
    assert producer.end(True).error_code == WRONG
    answer = producer.end(False)
    assert (answer.error_code, answer.producer_epoch) == (0, producer.epoch + 1)
    old = Transactor(client, **OLD)
    assert old.end(True).error_code == old.end(False).error_code == WRONG


def test_nobody_may_end_the_transaction_of_another(client: Client) -> None:
    producer = Transactor(client, **NEW)
    mapping = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    for version in (3, 5):
        assert producer.end(True, version, producer_id=2**40).error_code == mapping
        assert producer.end(True, version, epoch=99).error_code == FENCED
    assert producer.add(client.new_topic(), producer_id=2**40) == {mapping}
