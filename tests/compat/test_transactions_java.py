"""Java's producer, which speaks transaction version 2, and Kafka's own tools for transactions."""

import json
import re
from collections.abc import Callable

import pytest

from tests.compat.test_transactions import transactional, values, write
from tests.support.clients import create_topic, produce, unique_name
from tests.support.java import run_java

pytestmark = [pytest.mark.compat, pytest.mark.java]

PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"
MESSAGE_COPIER = "org.apache.kafka.tools.TransactionalMessageCopier"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
FORMATTER = "org.apache.kafka.tools.consumer.TransactionLogMessageFormatter"
COMMITTED = {"isolation_level": "read_committed"}

Tool = Callable[..., str]


def state_records(java_tool: Tool, transactional_id: str) -> list[dict]:
    """What Kafka's formatter reads of one id in `__transaction_state`."""
    output = java_tool(
        CONSOLE_CONSUMER,
        *("--topic", "__transaction_state", "--from-beginning", "--timeout-ms", "3000"),
        *("--formatter", FORMATTER),
        *("--group", unique_name("reader")),
    )
    decoder, found = json.JSONDecoder(), []
    for start in (match.start() for match in re.finditer(r'\{"key"', output)):
        record, _ = decoder.raw_decode(output, start)
        if record["key"]["data"]["transactionalId"] == transactional_id:
            found.append(record["value"]["data"])
    return found


def test_every_transaction_of_the_java_producer_bumps_the_epoch(
    java_tool: Tool, topic: str, bootstrap: str
) -> None:
    name = unique_name("java")
    java_tool(
        PRODUCER_PERFORMANCE,
        *("--topic", topic, "--num-records", "2000", "--record-size", "10", "--throughput", "-1"),
        *("--transactional-id", name, "--transaction-duration-ms", "20"),
    )
    assert len(values(bootstrap, topic, **COMMITTED)) == 2000
    records = state_records(java_tool, name)
    assert [record["transactionStatus"] for record in records[:4]] == [0, 1, 2, 4]
    assert records[-1]["transactionStatus"] == 4
    assert records[-1]["producerEpoch"] == sum(r["transactionStatus"] == 2 for r in records)
    assert {record.get("clientTransactionVersion", 0) for record in records[1:]} == {2}


@pytest.mark.parametrize("mode", [(), ("--group-mode", "--use-group-metadata")])
def test_the_message_copier_copies_exactly_once(bootstrap: str, mode: tuple[str, ...]) -> None:
    source, target = create_topic(bootstrap), create_topic(bootstrap)
    produce(bootstrap, source, [b"%d" % n for n in range(1000)])
    run_java(
        MESSAGE_COPIER,
        *("--input-topic", source, "--input-partition", "0", "--output-topic", target),
        *("--broker-list", bootstrap, "--consumer-group", unique_name("copy")),
        *("--transaction-size", "50", "--transactional-id", unique_name("copier")),
        "--enable-random-aborts",
        *mode,
        timeout_s=120,
    )
    found = [int(value) for value in values(bootstrap, target, **COMMITTED)]
    assert found == list(range(1000))


def producers_of(bootstrap: str, topic: str) -> list[list[str]]:
    """Id, epoch, coordinator epoch, last sequence and start of the open transaction of each producer of a log."""
    output = run_java(
        TRANSACTIONS,
        *("--bootstrap-server", bootstrap, "describe-producers"),
        *("--topic", topic, "--partition", "0"),
    )
    header, *rows = [line.split() for line in output.splitlines() if line.strip()]
    time = header.index("LastTimestamp")
    return [row[:time] + row[time + 1 :] for row in rows]


def test_kafkas_tool_lists_and_describes_transactions(
    java_tool: Tool, bootstrap: str, topic: str
) -> None:
    name = unique_name("described")
    client = transactional(bootstrap, name)
    client.begin_transaction()
    write(client, topic, b"open")
    server = ("--bootstrap-server", bootstrap)
    listed = run_java(TRANSACTIONS, *server, "list")
    ongoing = re.search(rf"{name}\s+\d+\s+(\d+)\s+Ongoing", listed)
    assert ongoing, listed
    described = run_java(TRANSACTIONS, *server, "describe", "--transactional-id", name)
    assert f"{topic}-0" in described
    assert "Ongoing" in described
    # Its first record is number 0 and the start of what is open; no coordinator has ended anything there.
    assert producers_of(bootstrap, topic) == [[ongoing[1], "0", "-1", "0", "0"]]
    client.abort_transaction(30)
    listed = run_java(TRANSACTIONS, *server, "list")
    assert re.search(rf"{name}\s+\d+\s+{ongoing[1]}\s+CompleteAbort", listed), listed
    assert producers_of(bootstrap, topic) == [[ongoing[1], "0", "0", "0", "None"]]


def test_kafkas_tool_ends_a_hanging_transaction(bootstrap: str, topic: str) -> None:
    name = unique_name("hanging")
    client = transactional(bootstrap, name)
    client.begin_transaction()
    write(client, topic, b"hanging")
    produce(bootstrap, topic, [b"plain"])
    assert values(bootstrap, topic, **COMMITTED) == []
    run_java(
        TRANSACTIONS,
        *("--bootstrap-server", bootstrap, "forceTerminateTransaction"),
        *("--transactionalId", name),
    )
    assert values(bootstrap, topic, **COMMITTED) == [b"plain"]
