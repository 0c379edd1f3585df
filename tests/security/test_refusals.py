"""All that keeps a client out ends in a sentence that says what to change, and repeats no secret."""

import pytest

import ottla
from ottla.client.errors import AuthenticationFailed, BrokerUnreachable, ConnectionLost, NotKafka
from tests.support.certificates import Authority
from tests.support.secured_kafka import PASSWORD, SecuredKafka, jaas

pytestmark = pytest.mark.compat
WRONG = "hunter2"


def refused(settings: dict[str, str], kind: type[Exception] = AuthenticationFailed) -> str:
    """What is said to a client that asks for the topics."""
    with ottla.Admin(settings) as admin, pytest.raises(kind) as caught:
        admin.list_topics()
    said = str(caught.value)
    assert WRONG not in said
    assert PASSWORD not in said
    assert settings["bootstrap.servers"] in said
    return said


def at(secured: SecuredKafka, settings_of: str, listener: str) -> dict[str, str]:
    """The settings for one listener with the address of another."""
    return secured.settings(settings_of) | {"bootstrap.servers": secured.address(listener)}


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_wrong_password(secured: SecuredKafka, mechanism: str) -> None:
    login = {"sasl.jaas.config": jaas(mechanism, password=WRONG)}
    said = refused(secured.settings("SASL", mechanism) | login)
    assert "refused the login" in said
    assert said.endswith("check user and password in sasl.jaas.config")


def test_a_mechanism_that_is_not_enabled(secured: SecuredKafka) -> None:
    said = refused(secured.settings("SASLTLS", "SCRAM-SHA-256"))
    assert "does not offer sasl.mechanism=SCRAM-SHA-256; it offers: PLAIN, SCRAM-SHA-512" in said


def test_a_certificate_that_is_not_trusted(secured: SecuredKafka) -> None:
    stranger = secured.directory / "stranger.pem"
    stranger.write_text(Authority.made("somebody else").certificate_pem())
    said = refused(secured.settings("TLS") | {"ssl.truststore.location": str(stranger)})
    assert "not trusted" in said
    assert "ssl.truststore.location" in said


def test_a_certificate_for_another_host(secured: SecuredKafka) -> None:
    settings = secured.settings("ELSEWHERE")
    assert "certificate for another name" in refused(settings)
    with ottla.Admin(settings | {"ssl.endpoint.identification.algorithm": ""}) as admin:
        admin.list_topics()


def test_a_certificate_that_has_expired(secured: SecuredKafka) -> None:
    assert "has expired" in refused(secured.settings("EXPIRED"))


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_a_client_without_the_certificate_it_needs(secured: SecuredKafka, version: str) -> None:
    settings = at(secured, "TLS", "MUTUAL") | {"ssl.enabled.protocols": version}
    assert "certificate of this client" in refused(settings)


def test_tls_is_expected(secured: SecuredKafka) -> None:
    said = refused({"bootstrap.servers": secured.address("TLS")}, NotKafka)
    assert "speaks TLS; use security.protocol=SSL" in said


def test_tls_is_not_expected(secured: SecuredKafka) -> None:
    said = refused(at(secured, "TLS", "PLAINTEXT"), BrokerUnreachable)
    assert "its listener is without TLS: then use security.protocol=PLAINTEXT" in said


@pytest.mark.parametrize(
    ("settings", "listener", "right"),
    [("PLAINTEXT", "SASL", "SASL_PLAINTEXT"), ("TLS", "SASLTLS", "SASL_SSL")],
)
def test_a_login_is_expected(
    secured: SecuredKafka, settings: str, listener: str, right: str
) -> None:
    said = refused(at(secured, settings, listener), ConnectionLost)
    assert f"use security.protocol={right}" in said


@pytest.mark.parametrize(("settings", "listener"), [("SASL", "PLAINTEXT"), ("SASLTLS", "TLS")])
def test_a_login_is_not_expected(secured: SecuredKafka, settings: str, listener: str) -> None:
    assert "does not ask clients to log in" in refused(at(secured, settings, listener))


def test_producers_and_consumers_are_told_at_once(secured: SecuredKafka) -> None:
    settings = secured.settings("SASL") | {"sasl.jaas.config": jaas("SCRAM", password=WRONG)}
    with ottla.Producer(settings) as producer, pytest.raises(AuthenticationFailed):
        producer.send("t", b"x").result(10)
    with ottla.Consumer(settings, group_id="g") as consumer:
        consumer.subscribe(["t"])
        with pytest.raises(AuthenticationFailed):
            consumer.poll(10)
