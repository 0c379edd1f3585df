"""The brokers that transcripts are played against."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker import OttlaBroker
from tests.support.requirements import requires

WITH_RULES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


@pytest.fixture(scope="session")
def ottla_bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A fresh ottla broker."""
    with OttlaBroker(tmp_path_factory.mktemp("golden") / "data") as broker:
        yield broker.bootstrap


@pytest.fixture(scope="session")
def kafka_bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A fresh broker of Apache Kafka."""
    requires("java", "maven")
    from tools.apache_kafka import ApacheKafka

    directory: Path = tmp_path_factory.mktemp("golden-kafka")
    with ApacheKafka(directory, heap_mb=384, properties=WITH_RULES) as kafka:
        yield kafka.bootstrap
