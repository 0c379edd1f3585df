"""Security settings written for Java."""

import pytest

from ottla.base.errors import ConfigError
from ottla.pipeline.security_options import parse_jaas, understood_security
from ottla.pipeline.source_options import read_source_options

LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required"


def test_a_login_is_taken_apart() -> None:
    found = understood_security(
        {"sasl.jaas.config": f'{LOGIN} username="ann" password="s\\"e;cret";'}
    )
    assert found == {"sasl.username": "ann", "sasl.password": 's"e;cret'}


def test_a_login_that_cannot_be_read_is_not_repeated() -> None:
    for wrong in ("secret", f"{LOGIN} password=", f'{LOGIN} "secret"'):
        with pytest.raises(ConfigError) as caught:
            parse_jaas(wrong)
        assert "sasl.jaas.config" in str(caught.value)
        assert '"secret"' not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"ssl.truststore.location": "/etc/kafka/trust.jks"},
        {"ssl.keystore.location": "/etc/kafka/key", "ssl.keystore.type": "JKS"},
    ],
)
def test_a_java_keystore_is_refused_with_the_command_that_converts_it(
    settings: dict[str, str],
) -> None:
    with pytest.raises(ConfigError, match=r"keytool -importkeystore .* -deststoretype PKCS12"):
        understood_security(settings)


def test_pkcs12_is_no_java_keystore() -> None:
    settings = {"ssl.truststore.location": "/etc/kafka/trust.p12"}
    assert understood_security(settings) == settings


def test_what_the_client_cannot_do_is_said() -> None:
    options = {
        "kafka.bootstrap.servers": "localhost:9092",
        "subscribe": "t",
        "kafka.security.protocol": "SASL_SSL",
    }
    with pytest.raises(ConfigError, match="does not speak TLS or SASL yet"):
        read_source_options(options)
