"""What somebody who has read docs/clients.md tries first: it works, or says what it wants."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

import ottla
from ottla.client.async_consumer import AsyncConsumer
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records.record import read_records
from tests.unit.client.promises.test_producing import Logs, outcomes, producing
from tests.unit.client.scripted import Saying, ScriptedBroker, metadata, run

SERVER = {"bootstrap_servers": "127.0.0.1:1"}


@pytest.mark.parametrize(
    "client",
    [
        ottla.Producer,
        ottla.Consumer,
        ottla.Admin,
        ottla.AsyncProducer,
        ottla.AsyncConsumer,
        ottla.AsyncAdmin,
    ],
)
def test_a_client_without_servers_says_so_at_once(client: Any) -> None:
    with pytest.raises(ottla.ConfigError, match=r"bootstrap.servers: names no broker"):
        client()


@pytest.mark.parametrize("client", [ottla.Producer, ottla.Consumer, ottla.Admin])
def test_closing_twice_is_fine_and_a_closed_client_says_so(client: Any) -> None:
    made = client(**SERVER)
    made.close()
    made.close()
    verb = {ottla.Producer: "flush", ottla.Consumer: "unsubscribe", ottla.Admin: "list_topics"}
    with pytest.raises(ottla.OttlaError, match="closed"):
        getattr(made, verb[client])()


@pytest.mark.parametrize("client", [ottla.AsyncProducer, ottla.AsyncConsumer, ottla.AsyncAdmin])
def test_closing_twice_is_fine_in_a_loop_too(client: Any) -> None:
    async def story() -> None:
        made = client(**SERVER)
        await made.close()
        await made.close()

    run(story())


def test_an_admin_client_shows_nothing_private() -> None:
    with ottla.Admin(**SERVER) as admin:
        assert not {"thread", "twin"} & set(dir(admin))
        assert "create_topics" in dir(admin)
        with pytest.raises(
            TypeError, match=r'create_topics\(\[ottla.NewTopic\("orders", partitions=4\)\]\)'
        ):
            admin.create_topics({"orders": 4})  # type: ignore[arg-type]  # what a newcomer tries


@pytest.mark.parametrize(
    "headers",
    [{"a": "text", "b": b"bytes", "c": None}, [("a", "text"), ("b", b"bytes"), ("c", None)]],
)
def test_headers_are_a_mapping_or_pairs_and_may_be_text(headers: Any) -> None:
    async def story() -> None:
        logs, written = Logs(), list[Any]()
        write = logs.logs[0].write

        def keep(batch: bytes) -> int | None:
            written.extend(read_records(batch))
            return write(batch)

        logs.logs[0].write = keep  # type: ignore[method-assign]  # looks on
        async with producing(logs) as producer:
            await producer.send_and_wait("t", b"v", partition=0, headers=headers)
        assert written[0].headers == (("a", b"text"), ("b", b"bytes"), ("c", None))

    run(story())


@pytest.mark.parametrize("headers", ["text", [1], [("a", 1)], [(1, b"v")], 7])
def test_headers_that_are_none_are_refused_with_what_is_wanted(headers: Any) -> None:
    async def story() -> None:
        async with producing(Logs()) as producer:
            with pytest.raises(TypeError, match="needed"):
                await producer.send("t", b"v", headers=headers)

    run(story())


def test_a_port_that_says_nothing_of_kafka_costs_no_more_than_max_block() -> None:
    async def story() -> None:
        async with Saying(b"") as stranger:
            servers = f"127.0.0.1:{stranger.port}"
            producer = ottla.AsyncProducer(bootstrap_servers=servers, max_block_ms=100)
            began = time.monotonic()
            with pytest.raises(ottla.OttlaError, match=r"max.block.ms=100"):
                await producer.send("t", b"v")
            assert time.monotonic() - began < 5
            await producer.close()

    run(story())


def test_a_full_disk_is_told_as_what_it_is() -> None:
    async def story() -> None:
        logs = Logs()
        logs.logs[0].faults = [ErrorCode.KAFKA_STORAGE_ERROR] * 1_000_000
        async with producing(logs, delivery_timeout_ms=100, linger_ms=0) as producer:
            [error] = await outcomes([await producer.send("t", b"v", partition=0)])
        named = "KAFKA_STORAGE_ERROR" in str(error)
        assert named or error.code == ErrorCode.KAFKA_STORAGE_ERROR

    run(story())


def test_a_topic_that_does_not_exist_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with ScriptedBroker() as broker:
            broker.answers[ApiKey.METADATA] = metadata({1: broker}, leaders={})
            quick = {"retry_backoff_ms": 1, "retry_backoff_max_ms": 1, "group_id": "g"}
            async with AsyncConsumer(bootstrap_servers=broker.bootstrap, **quick) as consumer:
                await consumer.subscribe(["ordres"])
                watch = consumer._core._watch
                assert watch is not None
                for _ in range(5):
                    await watch.topics()
                    await asyncio.sleep(0)

    run(story())
    assert caplog.text.count("a topic that is subscribed to does not exist") == 1
