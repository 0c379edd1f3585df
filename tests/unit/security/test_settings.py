"""Which security settings belong together, and which cannot be followed."""

from typing import Any

import pytest

from ottla.base.errors import ConfigError
from ottla.client.producer_settings import ProducerSettings
from ottla.client.settings import client_settings, read_settings
from ottla.security.settings import hidden, is_about_security

LOGIN = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";'
)
SASL = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": LOGIN}


def test_what_a_client_of_kafka_may_be_told() -> None:
    made = client_settings(
        {
            **SASL,
            "ssl.truststore.type": "pkcs12",
            "ssl.truststore.location": "/trust.p12",
            "ssl.truststore.password": " with blanks ",
            "ssl.endpoint.identification.algorithm": "",
            "ssl.enabled.protocols": "TLSv1.3",
            "ssl.protocol": "TLSv1.3",
            "sasl.kerberos.service.name": "kafka",
        }
    )
    assert (made.uses_tls, made.uses_sasl) == (True, True)
    assert made.ssl_truststore_type == "PKCS12"
    assert made.ssl_truststore_password == " with blanks "
    assert made.ssl_endpoint_identification_algorithm == ""
    assert made.ssl_enabled_protocols == ("TLSv1.3",)


def test_without_a_word_connections_are_in_the_clear() -> None:
    made = client_settings({})
    assert (made.uses_tls, made.uses_sasl) == (False, False)
    assert made.ssl_endpoint_identification_algorithm == "https"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"security.protocol": "TLS"}, r"security\.protocol=TLS: must be PLAINTEXT, SSL, "),
        ({"sasl.mechanism": None}, r"sasl\.mechanism: is missing.* PLAIN, SCRAM-SHA-256, "),
        ({"sasl.mechanism": "GSSAPI"}, r"sasl\.mechanism=GSSAPI: must be PLAIN"),
        ({"sasl.jaas.config": None}, r"sasl\.jaas\.config: is missing.*PlainLoginModule required"),
        (
            {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": "https://x"},
            "have something else fetch the token into a file",
        ),
        ({"ssl.truststore.type": "BCFKS"}, "must be PEM or PKCS12"),
        ({"ssl.endpoint.identification.algorithm": "ldaps"}, "must be https, or empty"),
        ({"ssl.enabled.protocols": "SSLv3"}, r"must be TLSv1\.2 or TLSv1\.3"),
        ({"ssl.keystore.key": "k"}, r"ssl\.keystore\.certificate\.chain: is missing"),
        (
            {"ssl.truststore.location": "/t", "ssl.truststore.certificates": "c"},
            r"contradicts ssl\.truststore\.location",
        ),
        (
            {
                "ssl.keystore.location": "/k",
                "ssl.keystore.key": "k",
                "ssl.keystore.certificate.chain": "c",
            },
            r"contradicts ssl\.keystore\.location",
        ),
    ],
)
def test_what_does_not_go_together(changed: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        client_settings({**SASL, **changed})


@pytest.mark.parametrize(
    ("name", "kafkas"),
    [
        ("ssl.ca.location", r"ssl\.truststore\.location"),
        ("ssl.ca.pem", r"ssl\.truststore\.certificates"),
        ("ssl.certificate.location", r"ssl\.keystore\.location"),
        ("ssl.key.location", r"ssl\.keystore\.location"),
        ("ssl.key.pem", r"ssl\.keystore\.key"),
        ("sasl.username", r"sasl\.jaas\.config"),
        ("sasl.password", r"sasl\.jaas\.config"),
        ("sasl.mechanisms", r"sasl\.mechanism"),
        ("enable.ssl.certificate.verification", r"ssl\.truststore\.location"),
        ("sasl.login.class", "class of Java"),
        ("ssl.truststor.location", r"did you mean ssl\.truststore\.location"),
    ],
)
def test_other_names_are_refused_with_kafkas(name: str, kafkas: str) -> None:
    with pytest.raises(ConfigError, match=kafkas) as caught:
        client_settings({name: "hunter2"})
    assert "hunter2" not in str(caught.value)
    assert is_about_security(name)


@pytest.mark.parametrize(
    "settings",
    [
        {"ssl.truststore.location": "/etc/kafka/trust.jks"},
        {"ssl.keystore.location": "/etc/kafka/key", "ssl.keystore.type": "JKS"},
        {"ssl.keystore.type": "jks"},
    ],
)
def test_a_java_keystore_is_refused_with_the_command_that_converts_it(
    settings: dict[str, str],
) -> None:
    with pytest.raises(ConfigError, match=r"keytool -importkeystore .* -deststoretype PKCS12"):
        client_settings(settings)


def test_secrets_are_not_shown() -> None:
    secrets = {
        "sasl.jaas.config": LOGIN.replace('"b"', '"hunter2"'),
        "ssl.key.password": "hunter2",
        "ssl.keystore.key": "hunter2",
        "ssl.keystore.certificate.chain": "hunter2",
        "ssl.truststore.password": "hunter2",
    }
    assert "hunter2" not in repr(read_settings(ProducerSettings, {**SASL, **secrets}))
    assert [hidden(name, "hunter2") for name in secrets] == ["[hidden]"] * len(secrets)
    assert hidden("client.id", "me") == "me"
