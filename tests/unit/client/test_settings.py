"""Client settings: Kafka's names, values of any type, and sentences for what cannot be."""

from __future__ import annotations

import pytest

from ottla.base.errors import ConfigError
from ottla.client.settings import (
    AdminSettings,
    ClientSettings,
    client_settings,
    is_known,
    read_settings,
    rows_of,
)
from ottla.config.listeners import Address


def test_values_may_be_text_or_python() -> None:
    as_text = client_settings({"bootstrap.servers": "a:1,b:2", "request.timeout.ms": "500"})
    as_python = client_settings({"bootstrap.servers": ["a:1", "b:2"], "request.timeout.ms": 500})
    assert as_text == as_python
    assert as_text.bootstrap_servers == (Address("a", 1), Address("b", 2))
    assert as_text.request_timeout_ms == 500


def test_what_is_not_given_has_kafkas_default() -> None:
    settings = read_settings(AdminSettings, {"client.id": None})
    assert settings.request_timeout_ms == 30_000
    assert settings.default_api_timeout_ms == 60_000
    assert (settings.retry_backoff_ms, settings.retry_backoff_max_ms) == (100, 1000)
    assert (settings.reconnect_backoff_ms, settings.reconnect_backoff_max_ms) == (50, 1000)
    assert settings.metadata_max_age_ms == 300_000
    assert settings.retries == 2**31 - 1


def test_what_was_given_is_known() -> None:
    assert client_settings({"client.id": "c"}).given == {"client.id"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("localhost:9092", [("localhost", 9092)]),
        ("[::1]:9092, 10.0.0.1:1", [("::1", 9092), ("10.0.0.1", 1)]),
        ("PLAINTEXT://kafka-1.example.com:9093", [("kafka-1.example.com", 9093)]),
        ("a:1,a:1,", [("a", 1)]),
    ],
)
def test_bootstrap_servers_are_hosts_and_ports(text: str, expected: list[Address]) -> None:
    assert list(client_settings({"bootstrap.servers": text}).bootstrap_servers) == expected


@pytest.mark.parametrize(
    "text", ["localhost", "localhost:", ":9092", "a:0", "a:65536", "a b:1", "::1:9"]
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigError, match=r"bootstrap\.servers=.*such as localhost:9092"):
        client_settings({"bootstrap.servers": text})


def test_a_misspelt_setting_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(
        ConfigError, match=r"bootstrap\.server: .*did you mean bootstrap\.servers\?"
    ):
        client_settings({"bootstrap.server": "a:1"})
    with pytest.raises(ConfigError, match=r"xyzzy: there is no such client setting$"):
        client_settings({"xyzzy": "1"})


def test_an_ill_typed_value_is_refused_with_its_name() -> None:
    with pytest.raises(ConfigError, match=r"request\.timeout\.ms=soon: must be a whole number"):
        client_settings({"request.timeout.ms": "soon"})


def test_files_written_for_kafkas_own_clients_can_be_read() -> None:
    client_settings(
        {"metric.reporters": "", "send.buffer.bytes": 1, "security.protocol": "PLAINTEXT"}
    )
    assert is_known(ClientSettings, "metric.reporters")
    assert not is_known(ClientSettings, "retries")
    assert is_known(AdminSettings, "retries")


def test_every_setting_has_a_sentence() -> None:
    for row in rows_of(AdminSettings).values():
        assert row.doc.endswith("."), row.name
