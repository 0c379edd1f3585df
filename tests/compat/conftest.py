"""A second broker, whose groups are quick to notice that a member is gone."""

from collections.abc import Iterator

import pytest

from tests.conftest import AGAINST, no_traceback
from tests.support.broker import OttlaBroker
from tests.support.requirements import requires

# Members report often and are missed soon, so that the tests need not wait as long as people would.
QUICK = {
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.min.heartbeat.interval.ms": "300",
    "group.consumer.session.timeout.ms": "3000",
    "group.consumer.min.session.timeout.ms": "3000",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
}


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker whose groups are quick."""
    directory = tmp_path_factory.mktemp("quick-broker") / "data"
    if AGAINST == "kafka":
        requires("java", "maven")
        from tools.apache_kafka import ApacheKafka

        with ApacheKafka(directory, heap_mb=512, properties=QUICK) as kafka:
            yield kafka.bootstrap
    else:
        with OttlaBroker(directory, QUICK) as broker:
            yield broker.bootstrap
            no_traceback(broker)
