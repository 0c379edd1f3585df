"""examples/producer.py: every order is written, the orders of a customer in their order."""

import json
import subprocess
from collections import defaultdict
from collections.abc import Callable

from ottla.testing import Broker, Topic
from tests.support.clients import consume

Start = Callable[..., "subprocess.Popen[str]"]
ORDERS = [{"customer": f"customer-{n % 5}", "item": "tea", "amount": n} for n in range(500)]
LINES = "".join(json.dumps(order) + "\n" for order in ORDERS)


def run(start: Start, broker: Broker, topic: str) -> tuple[int, str, str]:
    process = start("producer.py", "--bootstrap-server", broker.bootstrap_servers, "--topic", topic)
    output, errors = process.communicate(LINES, timeout=30)
    return process.returncode, output, errors


def test_orders_are_written_in_their_order(
    start_example: Start, ottla_broker: Broker, ottla_topics: Callable[..., Topic]
) -> None:
    topic = ottla_topics(partitions=3)
    # The answer to some of them gets lost on the way.
    rule = ottla_broker.faults.lose_answer("Produce")
    assert run(start_example, ottla_broker, topic) == (0, "500 orders written, 0 not\n", "")
    assert rule.applied == 1
    read = defaultdict(list)
    for partition in range(topic.partitions):
        for message in consume(ottla_broker.bootstrap_servers, topic, partition=partition):
            order = json.loads(message.value())
            assert message.key().decode() == order["customer"]
            read[order["customer"]].append(order["amount"])
    assert read == {f"customer-{n}": list(range(n, 500, 5)) for n in range(5)}


def test_orders_that_are_refused_are_counted(
    start_example: Start, ottla_broker: Broker, ottla_topic: Topic
) -> None:
    ottla_broker.faults.fail("Produce", "TOPIC_AUTHORIZATION_FAILED", times=None)
    code, output, errors = run(start_example, ottla_broker, ottla_topic)
    assert (code, output) == (1, "0 orders written, 500 not\n")
    assert errors.startswith("not written: ")


def test_no_broker_is_one_sentence(start_example: Start) -> None:
    process = start_example("producer.py", "--bootstrap-server", "127.0.0.1:1")
    _, errors = process.communicate(LINES, timeout=30)
    assert process.returncode == 1
    assert errors.startswith("producer: ")
    assert "127.0.0.1:1" in errors
    assert "Traceback" not in errors
