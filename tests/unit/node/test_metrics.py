"""What a running broker tells of itself: /metrics and /health."""

import json
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.broker import OttlaBroker
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.records import batch, fetch, fetch_request, produce

Brokers = Callable[..., OttlaBroker]


class Watched:
    """A broker with a page for those who watch it."""

    def __init__(self, start: Brokers, **settings: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.broker = start({"ottla.metrics.listener": f"127.0.0.1:{self.port}", **settings})

    def page(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as got:
                return got.status, got.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()

    def value(self, row: str) -> float:
        """The value of one line of the metrics."""
        [found] = re.findall(rf"^{re.escape(row)} (\S+)$", self.page("/metrics")[1], re.MULTILINE)
        return float(found)


@pytest.fixture
def watched(own_broker: Brokers) -> Iterator[Watched]:
    return Watched(own_broker)


def test_partitions_are_measured(watched: Watched) -> None:
    with closing(Client(watched.broker.bootstrap)) as client:
        topic = client.new_topic(2)
        records = batch(b"a", b"b", b"c")
        produce(client, topic, records, partition=1)
        fetch(client, topic, partition=1)
        where = f'{{topic="{topic}",partition="1"}}'
        for name, expected in (("end_offset", 3), ("start_offset", 0), ("high_watermark", 3)):
            assert watched.value(f"ottla_partition_{name}{where}") == expected
        assert watched.value(f"ottla_partition_size_bytes{where}") == len(records)
        for name in ("bytes_in", "bytes_out", "messages_in"):
            assert watched.value(f"ottla_partition_{name}_per_second{where}") >= 0
        assert watched.value(f'ottla_partition_end_offset{{topic="{topic}",partition="0"}}') == 0


def test_requests_errors_connections_and_sessions_are_counted(watched: Watched) -> None:
    with closing(Client(watched.broker.bootstrap)) as client:
        topic = client.new_topic()
        for _ in range(3):
            produce(client, topic, batch(b"v"))
        produce(client, topic, b"nonsense")
        assert watched.value('ottla_requests_total{api="Produce"}') == 4
        assert watched.value('ottla_request_seconds_count{api="Produce"}') == 4
        assert watched.value('ottla_produce_errors_total{error="INVALID_RECORD"}') == 1
        assert watched.value("ottla_connections") == 1
        client.ask(fetch_request({topic: {0: 0}}, session_epoch=0), 12)
        assert watched.value("ottla_fetch_sessions") == 1
    wait_for(lambda: watched.value("ottla_connections") == 0, "the connection to be forgotten")
    assert watched.value("ottla_unexpected_failures_total") == 0


def test_every_metric_is_explained(watched: Watched) -> None:
    lines = watched.page("/metrics")[1].splitlines()
    explained = {line.split()[2] for line in lines if line.startswith("# HELP")}
    names = {re.split(r"[{ ]", line)[0] for line in lines if not line.startswith("#")}
    bare = {re.sub(r"_(bucket|sum|count)$", "", name) for name in names}
    assert bare <= explained | names & explained


def test_a_broker_that_is_well_says_so(watched: Watched) -> None:
    status, body = watched.page("/health")
    assert status == 200
    assert json.loads(body) == {"live": True, "ready": True, "node_id": 1, "offline_log_dirs": []}
    assert watched.page("/health/ready")[0] == 200
    assert watched.page("/elsewhere")[0] == 404


def test_a_lost_directory_is_shown(own_broker: Brokers, tmp_path: Path) -> None:
    lost = tmp_path / "lost"
    lost.write_text("no directory")
    watched = Watched(own_broker, **{"log.dirs": f"{tmp_path / 'kept'},{lost}"})
    status, body = watched.page("/health")
    assert (status, json.loads(body)["offline_log_dirs"]) == (503, [str(lost)])
    assert watched.page("/health/live")[0] == 200
    assert watched.value("ottla_offline_log_directories") == 1


def test_a_broker_without_a_page_serves_all_the_same(own_broker: Brokers) -> None:
    first = Watched(own_broker)
    second = own_broker({"ottla.metrics.listener": f"127.0.0.1:{first.port}"})
    with closing(Client(second.bootstrap)) as client:
        assert client.produce(client.new_topic()) == 0
    assert "no metrics" in second.log
