"""Requests leave no reference cycles: the collector that would have to find them stops the loop for everybody.

A broker that left a cycle for each fetch that waits was stopped for 60 to 100 ms, 13 times a minute under light load.
"""

import os
import signal
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ottla.broker.apis import APIS, Api
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.create_topics import CreatableTopic, CreateTopicsRequest
from ottla.protocol.apis.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.codec import encode_request, request_class
from ottla.protocol.records.compression import Codec
from tests.support.broker import OttlaBroker
from tests.support.waiting import wait_for
from tests.unit.broker.handlers import consumer_members, groups
from tests.unit.broker.handlers.asking import NOW_MS, Client
from tests.unit.broker.handlers.group_offsets import commit
from tests.unit.broker.handlers.records import (
    batch,
    fetch,
    fetch_request,
    produce,
    produce_request,
)
from tests.unit.broker.handlers.test_delete_records import delete
from tests.unit.broker.handlers.test_list_offsets import lookup
from tests.unit.broker.handlers.transacting import Transactor

pytestmark = pytest.mark.interpreted
PROGRAM = """
import gc, signal, sys

report = sys.argv.pop(1)

def collect(*_):
    gc.disable()
    with open(report, "a") as file:
        file.write(f"{gc.collect()}\\n")

signal.signal(signal.SIGUSR1, collect)
from ottla.cli.main import main
sys.exit(main())
"""
WARM, FEW, MANY = 10, 20, 120
# The smallest cycle is two objects, or one that holds itself.
MOST_PER_REQUEST = 0.5


class CountedBroker(OttlaBroker):
    """A broker that says how many objects its collector found, and collects only when asked."""

    @property
    def _report(self) -> Path:
        return self.data_dir.with_name("garbage")

    def command(self, port: int) -> list[str]:
        """The command line, with the report before it."""
        return [sys.executable, "-c", PROGRAM, str(self._report), *super().command(port)[1:]]

    def garbage(self) -> int:
        """How many objects were unreachable and still there."""
        before = len(self._counts())
        os.kill(self.pid, signal.SIGUSR1)
        wait_for(lambda: len(self._counts()) > before, "the collector")
        return self._counts()[-1]

    def _counts(self) -> list[int]:
        text = self._report.read_text() if self._report.exists() else ""
        return [int(line) for line in text.splitlines() if line]


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CountedBroker]:
    """One broker for all of these tests."""
    settings = {
        "offsets.topic.num.partitions": "2",
        "transaction.state.log.num.partitions": "2",
        "group.initial.rebalance.delay.ms": "0",
    }
    with CountedBroker(tmp_path_factory.mktemp("counted") / "data", settings) as broker:
        yield broker


@pytest.fixture
def client(counted: CountedBroker) -> Iterator[Client]:
    """A connection of the test's own."""
    with closing(Client(counted.bootstrap)) as connection:
        yield connection


def check(broker: CountedBroker, act: Callable[[], object]) -> None:
    """What is found does not grow with the requests."""
    found = []
    for count in (WARM, FEW, MANY):
        for _ in range(count):
            act()
        found.append(broker.garbage())
    _, few, many = found
    assert many - few < MOST_PER_REQUEST * (MANY - FEW), f"{few} of {FEW}, {many} of {MANY}"


OF_CLIENTS = [api for api in APIS if not api.between_brokers and api.key != ApiKey.PRODUCE]


@pytest.mark.parametrize("api", OF_CLIENTS, ids=lambda api: api.name)
def test_no_api_leaves_garbage(counted: CountedBroker, client: Client, api: Api) -> None:
    check(counted, lambda: client.ask(request_class(api.key)(), api.max_version))


def test_connections_leave_no_garbage(counted: CountedBroker) -> None:
    check(counted, lambda: Client(counted.bootstrap).close())


def test_fetches_that_wait_leave_no_garbage(counted: CountedBroker, client: Client) -> None:
    topic = client.new_topic()
    check(counted, lambda: fetch(client, topic, max_wait_ms=1))


def test_fetches_that_are_woken_leave_no_garbage(counted: CountedBroker, client: Client) -> None:
    topic, end = client.new_topic(), 0
    with closing(Client(counted.bootstrap)) as producer:

        def wait_and_be_woken() -> None:
            nonlocal end
            request = fetch_request({topic: {0: end}}, max_wait_ms=20_000)
            client.send(encode_request(request, 11, 1, None))
            producer.produce(topic)
            client.receive()
            end += 1

        check(counted, wait_and_be_woken)


def test_fetches_whose_client_hangs_up_leave_no_garbage(
    counted: CountedBroker, client: Client
) -> None:
    topic = client.new_topic()
    frame = encode_request(fetch_request({topic: {0: 0}}, max_wait_ms=20_000), 11, 1, None)

    def ask_and_hang_up() -> None:
        with closing(Client(counted.bootstrap)) as other:
            other.send(frame)

    check(counted, ask_and_hang_up)


def test_reads_by_time_and_deletions_leave_no_garbage(
    counted: CountedBroker, client: Client
) -> None:
    topic = client.new_topic()
    client.produce(topic, *[NOW_MS] * 5)
    check(counted, lambda: lookup(client, topic, NOW_MS))
    check(counted, lambda: delete(client, topic, 3))


@pytest.mark.parametrize(
    "configs",
    [{}, {"flush_messages": 1}, {"cleanup_policy": "compact"}, {"compression_type": "zstd"}],
    ids=lambda configs: next(iter(configs), "plain"),
)
def test_batches_leave_no_garbage(
    counted: CountedBroker, client: Client, configs: dict[str, object]
) -> None:
    topic = client.new_topic(**configs)
    check(counted, lambda: produce(client, topic, batch(b"v" * 100, codec=Codec.LZ4)))
    check(counted, lambda: produce(client, topic, batch(b"v", key=None), acks=1))
    check(counted, lambda: produce(client, topic, batch(b"v")[:-1] + b"!"))
    unanswered = encode_request(produce_request({topic: {0: batch(b"v")}}, acks=0), 11, 1, None)
    check(counted, lambda: client.send(unanswered))


def test_topics_that_come_and_go_leave_no_garbage(counted: CountedBroker, client: Client) -> None:
    def come_and_go() -> None:
        name = uuid.uuid4().hex
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        assert client.ask(CreateTopicsRequest(topics=[topic])).topics[0].error_code == 0
        gone = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)])
        assert client.ask(gone).responses[0].error_code == 0

    check(counted, come_and_go)


def test_groups_leave_no_garbage(counted: CountedBroker, client: Client) -> None:
    group, topic = groups.new_group(client), client.new_topic()
    joined = groups.stable_member(client, group)
    check(counted, lambda: groups.heartbeat(client, group, joined))
    check(counted, lambda: groups.join(client, group, member_id=joined.member_id))
    check(counted, lambda: groups.stable_member(client, groups.new_group(client)))
    offsets = groups.new_group(client)
    check(counted, lambda: commit(client, offsets, topic, {0: 1}))


def test_members_of_the_new_protocol_leave_no_garbage(
    counted: CountedBroker, client: Client
) -> None:
    topic = client.new_topic()

    def join_and_leave() -> None:
        group = f"group-{uuid.uuid4().hex}"
        joined = client.ask(consumer_members.join_request(group, topic))
        assert joined.error_code == 0, joined

    groups.new_group(client)  # the coordinator is there
    check(counted, join_and_leave)


def test_transactions_leave_no_garbage(counted: CountedBroker, client: Client) -> None:
    topic, producer = client.new_topic(), Transactor(client)

    def commit_one() -> None:
        producer.send(topic)
        producer.finish(True)

    check(counted, commit_one)
