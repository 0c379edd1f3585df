"""A connection that logs in, and again while it is in use (KIP-368)."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.client.connection import Connection
from ottla.client.errors import (
    AuthenticationFailed,
    ConnectionLost,
    NotKafka,
    RequestTimedOut,
)
from ottla.client.secured import security_of
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.find_coordinator import Coordinator, FindCoordinatorRequest
from ottla.protocol.apis.find_coordinator import FindCoordinatorResponse as Found
from ottla.protocol.apis.sasl_authenticate import SaslAuthenticateResponse
from ottla.protocol.apis.sasl_handshake import SaslHandshakeResponse
from ottla.protocol.errors import ErrorCode
from ottla.security.settings import SecuritySettings
from tests.support.certificates import Authority
from tests.unit.client.scripted import ListeningServer, Saying, ScriptedBroker, run

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SASL = SecuritySettings(
    security_protocol="SASL_PLAINTEXT",
    sasl_mechanism="PLAIN",
    sasl_jaas_config=f'{LOGIN} username="ann" password="hunter2";',
)
TLS = SecuritySettings(
    security_protocol="SSL", ssl_truststore_certificates=Authority.made().certificate_pem()
)


def handshake(request: Any, version: int) -> SaslHandshakeResponse:
    assert version == 1
    return SaslHandshakeResponse(mechanisms=["PLAIN"])


class Door:
    """Lets the first ones in, for a while each."""

    def __init__(self, lifetime_ms: int = 0, opens: int = 1_000_000) -> None:
        self.lifetime_ms = lifetime_ms
        self.opens = opens

    def __call__(self, request: Any, version: int) -> SaslAuthenticateResponse:
        assert request.auth_bytes == b"\0ann\0hunter2"
        self.opens -= 1
        if self.opens < 0:
            return SaslAuthenticateResponse(error_code=ErrorCode.SASL_AUTHENTICATION_FAILED)
        return SaslAuthenticateResponse(session_lifetime_ms=self.lifetime_ms)


def coordinators(request: FindCoordinatorRequest, version: int) -> Found:
    return Found(coordinators=[Coordinator(key=key) for key in request.coordinator_keys])


def broker(door: Any) -> ScriptedBroker:
    return ScriptedBroker(
        {
            ApiKey.SASL_HANDSHAKE: handshake,
            ApiKey.SASL_AUTHENTICATE: door,
            ApiKey.FIND_COORDINATOR: coordinators,
        }
    )


async def opened(
    server: ListeningServer, settings: SecuritySettings = SASL, timeout_ms: float = 5000
) -> Connection:
    security = security_of(settings)
    return await Connection.open("127.0.0.1", server.port, timeout_ms=timeout_ms, security=security)


def test_requests_wait_while_the_login_is_renewed() -> None:
    async def story() -> None:
        async with broker(Door(lifetime_ms=100)) as served:
            client = await opened(served)
            asked = 0
            while served.count(ApiKey.SASL_HANDSHAKE) < 4:
                asked += 1
                answer = await client.ask(FindCoordinatorRequest(coordinator_keys=[str(asked)]))
                assert answer.coordinators[0].key == str(asked)
            await client.close()
        keys = [key for key, _, _ in served.received]
        for place, key in enumerate(keys):
            if key is ApiKey.SASL_HANDSHAKE and place + 1 < len(keys):
                assert keys[place + 1] is ApiKey.SASL_AUTHENTICATE
        assert keys.count(ApiKey.FIND_COORDINATOR) == asked

    run(story())


def test_a_login_that_is_not_renewed_ends_the_connection() -> None:
    async def story() -> None:
        async with broker(Door(lifetime_ms=50, opens=1)) as served:
            client = await opened(served)
            await client.lost()
            with pytest.raises(AuthenticationFailed, match="check user and password"):
                client.send(FindCoordinatorRequest())

    run(story())


def test_a_broker_that_knows_no_logins() -> None:
    async def story() -> None:
        async with ScriptedBroker() as served:
            with pytest.raises(AuthenticationFailed, match="does not ask clients to log in"):
                await opened(served)

    run(story())


def test_a_broker_that_falls_silent_in_a_login() -> None:
    async def story() -> None:
        async with broker(lambda request, version: None) as served:
            with pytest.raises(RequestTimedOut, match="did not complete the login within"):
                await opened(served, timeout_ms=300)

    run(story())


def test_a_client_without_a_login_is_told_what_may_be_missing() -> None:
    """Kafka answers ApiVersions, and hangs up at the next request."""

    async def story() -> None:
        hang_up = {ApiKey.FIND_COORDINATOR: lambda request, version: served.drop_connections()}
        async with ScriptedBroker(hang_up) as served:
            client = await opened(served, SecuritySettings())
            with pytest.raises(ConnectionLost, match=r"security\.protocol=SASL_PLAINTEXT"):
                await client.ask(FindCoordinatorRequest())

    run(story())


def test_tls_with_a_server_that_speaks_something_else() -> None:
    async def story() -> None:
        async with Saying(b"HTTP/1.1 400 Bad Request\r\n\r\n") as web:
            with pytest.raises(NotKafka, match=r"does not speak TLS; use security\.protocol"):
                await opened(web, TLS)

    run(story())
