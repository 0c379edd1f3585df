"""Kafka's own tools meet a sink: they pass over what they do not know, and show its slots as transactions."""

import re
from collections.abc import Callable
from contextlib import closing

import pytest

from tests.golden.test_dump_log import assert_same
from tests.support.broker import OttlaBroker
from tests.support.clients import unique_name
from tests.support.java import run_java
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.sinking import Driver
from tests.unit.broker.handlers.transacting import committed

pytestmark = [pytest.mark.compat, pytest.mark.java]

CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
FORMATTER = "org.apache.kafka.tools.consumer.TransactionLogMessageFormatter"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"


@pytest.fixture
def broker(own_broker: Callable[..., OttlaBroker]) -> OttlaBroker:
    """A broker of the test's own, with one coordinator's log."""
    settings = {
        "transaction.state.log.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
    }
    return own_broker(settings)


def test_kafkas_formatters_pass_over_the_records_of_sinks(broker: OttlaBroker) -> None:
    with closing(Client(broker.bootstrap)) as client:
        driver = Driver(client, unique_name("clicks"))
        task = driver.task(0)
        task.send(client.new_topic(), b"v")
        driver.commit(0, [task])
        driver.task(1)
    output = run_java(
        CONSOLE_CONSUMER,
        *("--bootstrap-server", broker.bootstrap, "--topic", "__transaction_state"),
        *("--from-beginning", "--timeout-ms", "5000", "--formatter", FORMATTER),
    )
    states = [int(found) for found in re.findall(r'"transactionStatus":(\d)', output)]
    assert states == [0, 1, 2, 0], "the transaction of the slot, from Empty to PrepareCommit"
    assert output.count('"transactionalId"') == 5, "these, and the tombstone of the first"
    [log] = broker.data_dir.glob("__transaction_state-0/*.log")
    assert_same("--files", str(log), "--transaction-log-decoder")


def test_kafkas_tool_names_the_sink_and_cannot_end_its_slot(broker: OttlaBroker) -> None:
    with closing(Client(broker.bootstrap)) as client:
        topic, driver = client.new_topic(), Driver(client, unique_name("clicks"))
        task = driver.task(0)
        task.send(topic, b"v")
        server = ("--bootstrap-server", broker.bootstrap)
        listed = run_java(TRANSACTIONS, *server, "list")
        assert re.search(rf"{driver.sink_id}/\S+\s+\d+\s+\d+\s+Ongoing", listed)
        described = run_java(TRANSACTIONS, *server, "describe", "--transactional-id", task.id)
        assert f"{topic}-0" in described
        terminate = ("forceTerminateTransaction", "--transactionalId", task.id)
        run_java(TRANSACTIONS, *server, *terminate, code=1)
        assert driver.commit(0, [task]) == 0
        assert committed(client, topic) == [b"v"]


def test_markers_that_are_written_by_hand_do_not_upset_the_coordinator(
    broker: OttlaBroker,
) -> None:
    with closing(Client(broker.bootstrap)) as client:
        topic, driver = client.new_topic(2), Driver(client, unique_name("clicks"))
        task = driver.task(0)
        task.send(topic, b"ended by hand", partition=0)
        task.send(topic, b"kept", partition=1)
        place = ("--topic", topic, "--partition", "0", "--start-offset", "0")
        run_java(TRANSACTIONS, "--bootstrap-server", broker.bootstrap, "abort", *place)
        assert driver.commit(0, [task]) == 0
        assert driver.describe().slots == []
        assert committed(client, topic, 0) == []
        assert committed(client, topic, 1) == [b"kept"]
