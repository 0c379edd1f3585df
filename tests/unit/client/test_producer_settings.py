"""A producer's settings: Kafka's names and defaults, and what contradicts itself."""

from typing import Any

import pytest

from ottla.base.errors import ConfigError
from ottla.client.producer_settings import ProducerSettings, check_producer
from ottla.client.settings import named_settings, read_settings, rows_of


def settings(values: dict[str, Any] | None = None, **named: Any) -> ProducerSettings:
    return check_producer(read_settings(ProducerSettings, named_settings(values, named)))


def test_defaults_are_those_of_kafka_4() -> None:
    made = settings()
    assert (made.acks, made.linger_ms, made.batch_size) == (-1, 5, 16384)
    assert (made.enable_idempotence, made.compression_type) == (True, "none")
    assert (made.delivery_timeout_ms, made.buffer_memory) == (120_000, 32 * 1024 * 1024)


def test_names_may_have_dots_or_underscores() -> None:
    assert settings({"linger.ms": 7}) == settings(linger_ms=7) == settings({"linger.ms": "7"})


@pytest.mark.parametrize(("given", "read"), [("all", -1), (-1, -1), (1, 1), ("0", 0)])
def test_acks_are_written_in_any_of_kafkas_ways(given: Any, read: int) -> None:
    assert settings(acks=given).acks == read


@pytest.mark.parametrize(
    "values", [{"acks": 1}, {"retries": 0}, {"max.in.flight.requests.per.connection": 6}]
)
def test_idempotence_gives_way_unless_it_was_asked_for(values: dict[str, Any]) -> None:
    assert not settings(values).enable_idempotence
    with pytest.raises(ConfigError, match=r"enable.idempotence=true: needs"):
        settings({**values, "enable.idempotence": True})
    with pytest.raises(ConfigError, match=r"enable.idempotence=true: needs"):
        settings({**values, "transactional.id": "t"})


def test_transactions_need_idempotence() -> None:
    with pytest.raises(ConfigError, match=r"transactional.id needs it"):
        settings(transactional_id="t", enable_idempotence=False)


def test_delivery_takes_at_least_one_request() -> None:
    assert settings(request_timeout_ms=200_000).delivery_timeout_ms == 200_005
    with pytest.raises(ConfigError, match=r"linger.ms \+ request.timeout.ms, here 30005"):
        settings(delivery_timeout_ms=1000)


def test_levels_belong_to_their_codec() -> None:
    assert settings(compression_type="zstd", compression_zstd_level=7).compression_level == 7
    assert settings(compression_type="snappy").compression_level is None


def test_every_setting_says_what_it_does() -> None:
    for row in rows_of(ProducerSettings).values():
        assert row.doc.endswith(".")
        assert row.doc[0].isupper(), row.name
