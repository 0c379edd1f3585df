"""Listeners of a real broker: how many may come in, and how long they may be silent."""

from collections.abc import Callable
from contextlib import ExitStack, closing

import pytest

from ottla.protocol.apis.describe_cluster import DescribeClusterRequest
from tests.support.broker import OttlaBroker
from tests.support.waiting import wait_for
from tests.unit.broker.handlers.asking import Client
from tests.unit.broker.handlers.records import fetch_request, send

Brokers = Callable[..., OttlaBroker]


def is_served(client: Client) -> bool:
    try:
        return bool(client.ask(DescribeClusterRequest()).brokers)
    except (EOFError, ConnectionError):
        return False


@pytest.mark.parametrize(
    "limit",
    [
        {"max.connections": "3"},
        {"max.connections.per.ip": "3"},
        {"max.connections.per.ip.overrides": "127.0.0.1:3", "max.connections.per.ip": "100"},
    ],
    ids=["of all", "of one address", "of one address by name"],
)
def test_one_connection_too_many_is_closed(own_broker: Brokers, limit: dict[str, str]) -> None:
    broker = own_broker({"listeners": "PLAINTEXT://127.0.0.1:0", **limit})
    with ExitStack() as stack:
        clients = [stack.enter_context(closing(Client(broker.bootstrap))) for _ in range(3)]
        assert all(is_served(client) for client in clients)
        with closing(Client(broker.bootstrap)) as late:
            assert not is_served(late)
        clients[0].close()

        def another_is_served() -> bool:
            with closing(Client(broker.bootstrap)) as another:
                return is_served(another)

        wait_for(another_is_served, "a place to become free")
        assert is_served(clients[1])


def test_who_is_silent_for_too_long_is_hung_up_on(own_broker: Brokers) -> None:
    broker = own_broker({"connections.max.idle.ms": "400"})
    with ExitStack() as stack:
        silent, half, waiting = (
            stack.enter_context(closing(Client(broker.bootstrap))) for _ in range(3)
        )
        assert is_served(silent)
        half.send(b"\0\0\0\x20\0")
        send(waiting, (fetch_request({waiting.new_topic(): {0: 0}}, max_wait_ms=60_000), 12))
        for client in (silent, half, waiting):
            with pytest.raises((EOFError, ConnectionResetError)):
                client.receive()


def test_who_asks_now_and_then_is_not_silent(own_broker: Brokers) -> None:
    broker = own_broker({"connections.max.idle.ms": "1000"})
    with closing(Client(broker.bootstrap)) as silent, closing(Client(broker.bootstrap)) as asking:
        assert is_served(silent)
        silent._socket.settimeout(0.05)
        for _ in range(1000):
            assert is_served(asking)
            try:
                silent.receive()
            except EOFError:
                break
            except TimeoutError:
                silent._stream = silent._socket.makefile("rb")
        else:
            raise AssertionError("nobody was hung up on")
        assert is_served(asking)
