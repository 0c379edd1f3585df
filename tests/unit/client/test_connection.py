"""One connection: what it says first, how answers find their askers, and all that can go wrong."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import closing
from typing import Any

import pytest

from ottla.client.connection import Connection
from ottla.client.errors import (
    BrokerUnreachable,
    ConnectionLost,
    NotKafka,
    RequestTimedOut,
    UnsupportedByBroker,
)
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from ottla.protocol.apis.heartbeat import HeartbeatRequest
from ottla.protocol.apis.list_groups import ListGroupsRequest
from tests.unit.client.scripted import ListeningServer, Saying, ScriptedBroker, run


def coordinators(request: FindCoordinatorRequest, version: int) -> FindCoordinatorResponse:
    """Every key is coordinated by the node whose number it is."""
    found = [Coordinator(key=key, node_id=int(key)) for key in request.coordinator_keys]
    return FindCoordinatorResponse(coordinators=found)


def silence(request: Any, version: int) -> None:
    """No answer at all."""


FINDING = {ApiKey.FIND_COORDINATOR: coordinators}
SILENT = {ApiKey.FIND_COORDINATOR: silence}


def find(key: int) -> FindCoordinatorRequest:
    return FindCoordinatorRequest(coordinator_keys=[str(key)])


async def opened(server: ListeningServer, timeout_ms: float = 5000) -> Connection:
    return await Connection.open("127.0.0.1", server.port, timeout_ms=timeout_ms)


def test_requests_sent_together_get_each_its_own_answer() -> None:
    async def story() -> None:
        async with ScriptedBroker(FINDING) as broker:
            client = await opened(broker)
            futures = [client.send(find(n)) for n in range(100)]
            assert client.in_flight == 100
            answers = [await future for future in futures]
            assert [a.coordinators[0].node_id for a in answers] == list(range(100))
            await client.close()

    run(story())


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("known", [3, 1, 0])
def test_an_older_broker_is_asked_again_in_its_own_version(known: int, told: bool) -> None:
    async def story() -> None:
        async with ScriptedBroker(FINDING, api_versions_up_to=known, told_in_refusal=told) as old:
            client = await opened(old)
            assert client.version_of(ApiKey.FIND_COORDINATOR) == 6
            assert old.accepted == 1
            await client.close()

    run(story())


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", "speaks HTTP"),
        (b"\x15\x03\x03\x00\x02\x02\x46", "speaks TLS"),
        (b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", "SSH-2.0"),
        (b"-ERR unknown command\r\n", "ERR unknown"),
        (b"\x7f\xff\xff\xff\x00\x00\x00\x01", "does not speak Kafka's protocol"),
        (b"\xff\xff\xff\xff\x00\x00\x00\x01", "does not speak Kafka's protocol"),
        (b"\x00\x00\x00\x00\x00\x00\x00\x01", "does not speak Kafka's protocol"),
        (b"\x00\x00\x00\x08\x00\x00\x00\x63more", "does not speak Kafka's protocol"),
    ],
)
def test_a_port_that_speaks_something_else_is_named_for_what_it_is(
    answer: bytes, sentence: str
) -> None:
    async def story() -> None:
        async with Saying(answer, then_close=True) as server:
            with pytest.raises(NotKafka, match=sentence) as raised:
                await opened(server)
            assert f"127.0.0.1:{server.port}" in str(raised.value)

    run(story())


def test_a_server_that_hangs_up_may_want_tls() -> None:
    async def story() -> None:
        async with Saying(b"", then_close=True) as server:
            with pytest.raises(ConnectionLost, match="expect TLS"):
                await opened(server)

    run(story())


def test_a_server_that_waits_for_the_end_of_a_line_is_named_before_the_time_is_up() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def story() -> None:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(NotKafka, match="speaks HTTP"):
                await Connection.open("127.0.0.1", port, timeout_ms=1000)

    run(story())


def test_a_server_that_accepts_and_never_answers_runs_out_of_time() -> None:
    async def story() -> None:
        async with Saying(b"") as server:
            with pytest.raises(RequestTimedOut, match="did not answer ApiVersions within") as late:
                await opened(server, timeout_ms=50)
            assert str(server.port) in str(late.value)

    run(story())


def test_what_waits_behind_a_stuck_request_does_not_wait_for_ever() -> None:
    async def story() -> None:
        async with ScriptedBroker(SILENT) as broker:
            client = await opened(broker)
            behind = client.send(find(2))
            with pytest.raises(RequestTimedOut, match="FindCoordinator within 30 ms"):
                await client.ask(find(1), timeout_ms=30)
            with pytest.raises(ConnectionLost, match="given up"):
                await behind
            assert client.closed
            await client.close()

    run(story())


def test_a_broker_that_goes_away_fails_all_who_wait() -> None:
    async def story() -> None:
        async with ScriptedBroker(SILENT) as broker:
            client = await opened(broker)
            futures = [client.send(find(n)) for n in range(3)]
            await asyncio.sleep(0)
            broker.drop_connections()
            for future in futures:
                with pytest.raises(ConnectionLost, match="closed the connection"):
                    await future
            with pytest.raises(ConnectionLost):
                client.send(find(4))
            await client.close()

    run(story())


def test_closing_fails_all_who_wait_and_can_be_done_twice() -> None:
    async def story() -> None:
        async with ScriptedBroker(SILENT) as broker:
            client = await opened(broker)
            waiting = client.send(find(1))
            nobody_looks_at_this = client.send(find(2))
            await client.close()
            await client.close()
            with pytest.raises(ConnectionLost, match="closed by this client"):
                await waiting
            assert nobody_looks_at_this.done()

    run(story())


def test_one_who_gave_up_waiting_does_not_get_anothers_answer() -> None:
    async def story() -> None:
        async with ScriptedBroker(FINDING) as broker:
            client = await opened(broker)
            client.send(find(1)).cancel()
            answer = await client.ask(find(2))
            assert answer.coordinators[0].node_id == 2
            await client.close()

    run(story())


def test_an_api_that_the_broker_does_not_serve_is_not_asked_for() -> None:
    async def story() -> None:
        async with ScriptedBroker(FINDING) as broker:
            client = await opened(broker)
            assert not client.serves(ApiKey.HEARTBEAT)
            with pytest.raises(UnsupportedByBroker, match="does not serve Heartbeat"):
                await client.ask(HeartbeatRequest())
            client.versions[ApiKey.LIST_GROUPS] = (90, 99)
            with pytest.raises(UnsupportedByBroker, match=r"90 to 99 of ListGroups.*0 to 5"):
                await client.ask(ListGroupsRequest())
            await client.close()

    run(story())


def test_an_answer_that_cannot_be_read_ends_the_connection() -> None:
    async def story() -> None:
        async with ScriptedBroker(FINDING) as broker:
            client = await opened(broker)
            future = client.send(find(1))
            frame = struct.pack(">iib", 5, 2, 0)  # an answer that ends behind its header
            client.get_buffer(-1)[: len(frame)] = frame
            client.buffer_updated(len(frame))
            with pytest.raises(ConnectionLost, match="could not be read"):
                await future
            assert client.closed
            await client.close()

    run(story())


class Sink(ScriptedBroker):
    """Reads to the end and keeps what came after ApiVersions."""

    def __init__(self) -> None:
        super().__init__({ApiKey.PRODUCE: silence})
        self.kept = b""
        self.ended = asyncio.Event()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        (size,) = struct.unpack(">i", await reader.readexactly(4))
        await reader.readexactly(size)
        writer.write(self._versions(4, 1))
        self.kept = await reader.read()
        self.ended.set()


def test_what_was_written_leaves_before_the_connection_closes() -> None:
    async def story() -> None:
        async with Sink() as broker:
            client = await opened(broker)
            body = [b"head", bytes(3_000_000), memoryview(b"tail")]
            client.send_unanswered(ApiKey.PRODUCE, 9, body)
            await client.writable()
            client.send_unanswered(ApiKey.PRODUCE, 9, [b"last"])
            await client.close()
            await broker.ended.wait()
            assert len(broker.kept) > 3_000_000
            assert broker.kept.endswith(b"last")
            with pytest.raises(ConnectionLost):
                client.send_unanswered(ApiKey.PRODUCE, 9, body)

    run(story())


def many_coordinators(request: FindCoordinatorRequest, version: int) -> FindCoordinatorResponse:
    """An answer of a few megabytes."""
    found = [Coordinator(key="k" * 100, node_id=n) for n in range(30_000)]
    return FindCoordinatorResponse(coordinators=found)


def test_a_large_answer_comes_whole_and_the_next_one_too() -> None:
    async def story() -> None:
        async with ScriptedBroker({ApiKey.FIND_COORDINATOR: many_coordinators}) as broker:
            client = await opened(broker)
            large = [client.send(find(1)), client.send(find(2))]
            for future in large:
                answer = await future
                assert [each.node_id for each in answer.coordinators] == list(range(30_000))
            await client.close()

    run(story())


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_nobody_there_is_one_clear_sentence() -> None:
    port = free_port()
    for host in ("127.0.0.1", "localhost"):
        sentence = f"nothing listens on {host}:{port}; check"
        with pytest.raises(BrokerUnreachable, match=sentence) as raised:
            run(Connection.open(host, port))
        assert raised.value.refused


def test_a_name_that_nobody_knows_is_one_clear_sentence() -> None:
    sentence = r"broker\.invalid:9092.*the name is unknown"
    with pytest.raises(BrokerUnreachable, match=sentence) as raised:
        run(Connection.open("broker.invalid", 9092))
    assert not raised.value.refused


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_every_address_of_a_name_is_tried(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    resolve = socket.getaddrinfo

    def two_addresses(name: str, *args: Any, **options: Any) -> Any:
        if name != "two.example":
            return resolve(name, *args, **options)
        other = "::1" if host == "127.0.0.1" else "127.0.0.1"
        return [*resolve(other, *args, **options), *resolve(host, *args, **options)]

    async def story() -> None:
        async with ScriptedBroker(FINDING, host=host) as broker:
            monkeypatch.setattr(socket, "getaddrinfo", two_addresses)
            client = await Connection.open("two.example", broker.port)
            await client.ask(find(1))
            await client.close()

    run(story())


def test_an_address_is_written_so_that_it_can_be_read() -> None:
    with pytest.raises(BrokerUnreachable, match=r"\[::1\]:"):
        run(Connection.open("::1", free_port()))
