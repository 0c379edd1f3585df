"""ottla's clients and an Apache Kafka broker that lets nobody in who is not known."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import uuid4

import pytest
import uvloop

import ottla
from ottla.client.settings import client_settings
from ottla.config.listeners import Address
from ottla.pipeline.reading_brokers import WorkerBrokers
from tests.support.secured_kafka import PASSWORD, SESSION_MS, SecuredKafka
from tests.support.waiting import wait_for

pytestmark = pytest.mark.compat
TIMEOUT_S = 30
WAYS = [
    ("SASL", "PLAIN"),
    ("SASL", "SCRAM-SHA-256"),
    ("SASLTLS", "SCRAM-SHA-512"),
    ("TLS", ""),
    ("MUTUAL", ""),
]


def run(
    work: Coroutine[Any, Any, None], loop: Callable[[], asyncio.AbstractEventLoop] | None = None
) -> None:
    """Run to the end, but not for ever."""
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(asyncio.wait_for(work, TIMEOUT_S))


def next_values(consumer: ottla.Consumer, count: int) -> list[bytes]:
    found: list[bytes] = []

    def enough() -> bool:
        found.extend(record.value for record in consumer.poll(0.2))
        return len(found) >= count

    wait_for(enough, "all records", TIMEOUT_S)
    return found


@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
def test_records_are_written_and_read_in_a_group(
    secured: SecuredKafka, listener: str, mechanism: str
) -> None:
    settings, topic = secured.settings(listener, mechanism), f"t-{uuid4().hex}"
    sent = [b"%d " % n * 50 for n in range(2000)]
    with ottla.Producer(settings) as producer:
        for value in sent:
            producer.send(topic, value, partition=0)
    reader = {**settings, "group.id": topic, "auto.offset.reset": "earliest"}
    with ottla.Consumer(reader) as consumer:
        consumer.subscribe([topic])
        assert next_values(consumer, len(sent)) == sent
    with ottla.Admin(settings) as admin:
        assert topic in admin.list_topics()


@pytest.mark.parametrize("loop", [None, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_large_answers_come_whole_over_tls_in_either_loop(secured: SecuredKafka, loop: Any) -> None:
    topic, value = f"t-{uuid4().hex}", bytes(range(256)) * 3000
    settings = secured.settings("SASLTLS", "PLAIN")

    async def story() -> None:
        async with ottla.AsyncProducer(settings) as producer:
            for _ in range(4):
                await producer.send(topic, value, partition=0)
        async with ottla.AsyncConsumer(settings) as consumer:
            await consumer.assign([ottla.TopicPartition(topic, 0)])
            consumer.seek_to_beginning()
            found: list[Any] = []
            while len(found) < 4:
                found += await consumer.poll(0.2)
        assert [record.value for record in found] == [value] * 4

    run(story(), loop)


def test_pkcs12_opens_both_doors(secured: SecuredKafka) -> None:
    own = secured.authority.issue("client")
    (secured.directory / "own.p12").write_bytes(own.pkcs12(PASSWORD))
    (secured.directory / "ca.p12").write_bytes(secured.authority.trusted_pkcs12(PASSWORD))
    settings = {
        "bootstrap.servers": secured.address("MUTUAL"),
        "security.protocol": "SSL",
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(secured.directory / "ca.p12"),
        "ssl.truststore.password": PASSWORD,
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(secured.directory / "own.p12"),
        "ssl.keystore.password": PASSWORD,
    }
    with ottla.Admin(settings) as admin:
        assert len(admin.describe_cluster().brokers) == 1


def test_a_token_opens_the_door(secured: SecuredKafka) -> None:
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
    settings = secured.settings("SASL") | {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f'{module} required unsecuredLoginStringClaim_sub="ann";',
    }
    with ottla.Admin(settings) as admin:
        assert len(admin.describe_cluster().brokers) == 1


def test_a_session_that_would_end_is_renewed_on_the_same_connection(
    secured: SecuredKafka,
) -> None:
    """KIP-368; requests go on all the while, and none is lost."""

    async def story() -> None:
        async with ottla.AsyncAdmin(secured.settings("BRIEF")) as admin:
            connection = await admin.cluster.connection()
            loop = asyncio.get_running_loop()
            end = loop.time() + 1.3 * SESSION_MS / 1000
            while loop.time() < end:
                await asyncio.gather(*(admin.list_topics() for _ in range(5)))
            assert await admin.cluster.connection() is connection

    run(story())


def test_a_worker_of_spark_uses_no_socket_whose_session_is_about_to_end(
    secured: SecuredKafka,
) -> None:
    brokers = WorkerBrokers(client_settings(secured.settings("BRIEF")))
    address = Address("127.0.0.1", secured.ports["BRIEF"])
    link = brokers.take(address)
    brokers.give_back(link)
    wait_for(lambda: link.expiring, "the end of the session")
    fresh = brokers.take(address)
    assert link.closed
    assert not fresh.expiring
    fresh.close()
