"""One shared broker for the session, and the switch that points compatibility tests at Kafka.

OTTLA_TEST_AGAINST=kafka runs the tests of tests/compat against Apache Kafka instead, which shows
that they are true of Kafka; `zookeeper` runs them against ottla with its metadata in ZooKeeper; a
HOST:PORT there uses a broker that already runs. Client libraries are imported only by the fixtures
that need them: unit tests do not wait for them.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings as hypothesis_settings

from tests.support.broker import OttlaBroker
from tests.support.java import run_java
from tests.support.requirements import requires

if TYPE_CHECKING:
    from ottla.node.ensemble import LocalEnsemble
    from tests.support.secured_kafka import SecuredKafka
    from tests.support.wire import Wire

# How long an example takes says something of the machine, not of the code; tests that measure do so by themselves.
hypothesis_settings.register_profile("ottla", deadline=None)
hypothesis_settings.load_profile("ottla")

pytest_plugins = ["tests.support.side_by_side", "tests.support.times"]
LAST_WORDS = 4000
AGAINST = os.environ.get("OTTLA_TEST_AGAINST", "ottla")
SETTINGS = {
    "num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    # Members of the new protocol hear of a rebalance with their next heartbeat: tests do not wait 5 s for it.
    "group.consumer.min.heartbeat.interval.ms": "250",
    "group.consumer.heartbeat.interval.ms": "250",
    # What a group asks for itself may be much shorter than what holds for the others.
    "group.consumer.min.session.timeout.ms": "1000",
}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what is marked `java` where there is none; what needs Maven too asks for it itself."""
    if item.get_closest_marker("java") is not None:
        requires("java")


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[LocalEnsemble]":
    """One ZooKeeper server for the session; each test takes a chroot of its own."""
    from tests.support.zookeeper import ensemble

    with ensemble(tmp_path_factory.mktemp("zookeeper")) as local:
        yield local


@pytest.fixture(scope="session")
def bootstrap(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of the session's broker: ottla, or what OTTLA_TEST_AGAINST asks for."""
    directory = tmp_path_factory.mktemp("session-broker") / "data"
    if ":" in AGAINST:
        yield AGAINST
    elif AGAINST == "kafka":
        requires("java", "maven")
        from tools.apache_kafka import ApacheKafka

        with ApacheKafka(directory, heap_mb=512, properties=SETTINGS) as kafka:
            yield kafka.bootstrap
    else:
        settings = dict(SETTINGS)
        if AGAINST == "zookeeper":
            connect = request.getfixturevalue("zookeeper").connect
            settings |= {"zookeeper.connect": f"{connect}/session-broker"}
        with OttlaBroker(directory, settings) as broker:
            yield broker.bootstrap
            no_traceback(broker)


def no_traceback(broker: OttlaBroker) -> None:
    """Whatever clients did, the broker has not stumbled over itself."""
    _, found, trace = broker.log.partition("Traceback (most recent call last)")
    assert not found, f"the broker logged a traceback:\n{trace[:4000]}"


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SecuredKafka]":
    """An Apache Kafka broker whose listeners speak TLS and SASL."""
    requires("java", "maven")
    from tests.support.secured_kafka import secured_kafka

    with secured_kafka(tmp_path_factory.mktemp("secured")) as kafka:
        yield kafka


@pytest.fixture
def topic(bootstrap: str) -> str:
    """A fresh topic of one partition."""
    from tests.support.clients import create_topic

    return create_topic(bootstrap)


@pytest.fixture
def wire(bootstrap: str) -> "Iterator[Wire]":
    """A raw connection to the session's broker."""
    from tests.support.wire import Wire

    with closing(Wire(bootstrap)) as connection:
        yield connection


@pytest.fixture
def ottla_only() -> None:
    """Skip a test that says something of ottla alone when another broker is under test."""
    if AGAINST not in ("ottla", "zookeeper"):
        pytest.skip(f"says something of ottla alone; the broker under test is {AGAINST}")


@pytest.fixture
def own_broker(ottla_only: None, tmp_path: Path) -> Iterator[Callable[..., OttlaBroker]]:
    """Starts ottla brokers of the test's own, and ends them with the test."""
    brokers: list[OttlaBroker] = []

    def start(settings: dict[str, str] | None = None, data_dir: Path | None = None) -> OttlaBroker:
        name = f"broker-{len(brokers)}"
        broker = OttlaBroker(data_dir or tmp_path / name, settings, tmp_path / f"{name}.log")
        brokers.append(broker)
        return broker.start()

    yield start
    for broker in brokers:
        broker.kill()
        print(broker.log[-LAST_WORDS:])  # seen if the test has failed
        no_traceback(broker)


@pytest.fixture
def java_tool(bootstrap: str) -> Callable[..., str]:
    """Runs one of Kafka's own tools against the session's broker and returns its output."""
    requires("java", "maven")

    def run(class_name: str, *args: str, input: str | None = None) -> str:
        return run_java(class_name, *args, "--bootstrap-server", bootstrap, input=input)

    return run
