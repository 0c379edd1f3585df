"""Client settings among the options, above all those that let a job in."""

import pytest

from ottla.base.errors import ConfigError
from ottla.pipeline.source_options import SourceOptions, read_source_options

LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required"


def read(**client: str) -> SourceOptions:
    options = {f"kafka.{name.replace('_', '.')}": text for name, text in client.items()}
    return read_source_options(
        {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "t", **options}
    )


def test_security_settings_are_those_of_javas_clients() -> None:
    login = f'{LOGIN} username="ann" password="hunter2";'
    found = read(
        security_protocol="SASL_SSL",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_jaas_config=login,
        ssl_truststore_location="/etc/kafka/ca.pem",
        ssl_trustmanager_algorithm="PKIX",
    )
    assert found.client["sasl.jaas.config"] == login
    assert found.without_meaning == ("ssl.trustmanager.algorithm",)
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize(
    ("client", "why"),
    [
        ({"security_protocol": "SASL_SSL"}, r"kafka\.sasl\.mechanism: is missing"),
        ({"ssl_ca_location": "/ca.pem"}, r"kafka\.ssl\.ca\.location: .*ssl\.truststore\.location"),
        ({"ssl_truststore_location": "/ca.jks"}, "keytool -importkeystore"),
        ({"sasl_no_such": "hunter2"}, r"kafka\.sasl\.no\.such: there is no such client setting"),
    ],
)
def test_what_cannot_be_followed_is_never_passed_over(client: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=why) as caught:
        read(**client)
    assert "hunter2" not in str(caught.value)
