"""The brokers that transcripts are played against."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.broker import OttlaBroker
from tests.support.requirements import requires
from tools.java import SHORT_LIVED

WITH_RULES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


class Served(NamedTuple):
    """A broker, and where it keeps its logs."""

    bootstrap: str
    logs: Path


@pytest.fixture(scope="session")
def ottla_served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A fresh ottla broker."""
    settings = {"group.initial.rebalance.delay.ms": "0"}
    with OttlaBroker(tmp_path_factory.mktemp("golden") / "data", settings) as broker:
        yield Served(broker.bootstrap, broker.data_dir)


@pytest.fixture(scope="session")
def kafka_served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A fresh broker of Apache Kafka."""
    requires("java", "maven")
    from tools.apache_kafka import ApacheKafka

    directory: Path = tmp_path_factory.mktemp("golden-kafka")
    kafka = ApacheKafka(directory, heap_mb=384, properties=WITH_RULES, jvm_options=SHORT_LIVED)
    with kafka:
        yield Served(kafka.bootstrap, directory / "logs")


@pytest.fixture(scope="session")
def ottla_bootstrap(ottla_served: Served) -> str:
    """The address of the ottla broker."""
    return ottla_served.bootstrap


@pytest.fixture(scope="session")
def kafka_bootstrap(kafka_served: Served) -> str:
    """The address of Apache Kafka's broker."""
    return kafka_served.bootstrap
