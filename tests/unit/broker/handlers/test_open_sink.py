"""OpenSink: a run of a job takes a sink over from the one before."""

from collections.abc import Callable
from contextlib import closing

import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.api_versions import ApiVersionsRequest
from ottla.protocol.apis.open_sink import OpenSinkRequest
from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.sinking import Driver
from tests.unit.broker.handlers.transacting import committed

pytestmark = pytest.mark.usefixtures("ottla_only")


def test_a_run_is_told_where_the_sink_stands(client: Client) -> None:
    first = Driver(client)
    assert (first.open().generation, first.open().committed_batch) == (1, -1)
    first.commit(4, digest="offsets of 4")
    answer = Driver(client, first.sink_id).open()
    assert (answer.generation, answer.committed_batch) == (2, 4)
    assert answer.committed_digest == "offsets of 4"


def test_the_run_before_is_fenced_and_what_it_wrote_does_not_count(client: Client) -> None:
    topic = client.new_topic()
    old = Driver(client)
    task = old.task(0)
    assert task.send(topic, b"old") == 0
    new = Driver(client, old.sink_id)
    assert old.open().error_code == ErrorCode.SINK_FENCED
    assert old.slot(0).error_code == old.commit(0, [task]) == ErrorCode.SINK_FENCED
    assert task.send(topic, b"zombie") == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    fresh = new.task(0)
    fresh.send(topic, b"new")
    assert new.commit(0, [fresh]) == 0
    assert committed(client, topic) == [b"new"]


def test_what_cannot_be_a_sink_is_refused(client: Client) -> None:
    sink = Driver(client).sink_id
    for run_id, timeout_ms, error in (
        ("", 1_000, ErrorCode.INVALID_REQUEST),
        ("r", 0, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
    ):
        request = OpenSinkRequest(sink_id=sink, run_id=run_id, timeout_ms=timeout_ms)
        answer = client.ask(request)
        assert answer.error_code == error
        assert answer.error_message


def test_a_broker_keeps_so_many_sinks(own_broker: Callable[..., OttlaBroker]) -> None:
    broker = own_broker({"ottla.max.sinks": "2", "transaction.state.log.num.partitions": "4"})
    with closing(Client(broker.bootstrap)) as client:
        first, _ = Driver(client), Driver(client)
        full = OpenSinkRequest(sink_id="third", run_id="r", timeout_ms=1_000)
        assert client.ask(full).error_code == ErrorCode.POLICY_VIOLATION
        assert first.open().error_code == 0


def test_only_clients_of_ottla_are_told_of_sinks(client: Client) -> None:
    for software, is_told in (("ottla", True), ("librdkafka", False)):
        request = ApiVersionsRequest(client_software_name=software, client_software_version="1")
        keys = {row.api_key for row in client.ask(request).api_keys}
        assert (ApiKey.OPEN_SINK in keys) is (ApiKey.RESET_SINK in keys) is is_told
