"""A consumer's settings: Kafka's names and defaults, and what contradicts itself."""

from typing import Any

import pytest

from ottla.base.errors import ConfigError
from ottla.client.consumer_settings import ConsumerSettings, check_consumer, duration_ms
from ottla.client.settings import named_settings, read_settings, rows_of


def settings(**named: Any) -> ConsumerSettings:
    return check_consumer(read_settings(ConsumerSettings, named_settings(None, named)))


def test_defaults_are_those_of_kafka_4() -> None:
    made = settings(group_id="g")
    assert (made.auto_offset_reset, made.enable_auto_commit) == ("latest", True)
    assert (made.max_poll_records, made.session_timeout_ms) == (500, 45_000)
    assert made.partition_assignment_strategy == ("range", "cooperative-sticky")


def test_nothing_is_committed_without_a_group() -> None:
    assert not settings().enable_auto_commit
    with pytest.raises(ConfigError, match=r"needs a group.id"):
        settings(enable_auto_commit=True)


def test_javas_names_of_assignors_are_understood() -> None:
    java = "org.apache.kafka.clients.consumer."
    made = settings(
        partition_assignment_strategy=[f"{java}StickyAssignor", f"{java}RoundRobinAssignor"]
    )
    assert made.partition_assignment_strategy == ("sticky", "roundrobin")
    with pytest.raises(ConfigError, match="must be range, roundrobin, sticky"):
        settings(partition_assignment_strategy="my.own.Assignor")


def test_the_broker_decides_what_is_its_own_in_the_new_protocol() -> None:
    with pytest.raises(ConfigError, match=r"session.timeout.ms: is the broker's to decide"):
        settings(group_protocol="consumer", session_timeout_ms=10_000)


def test_heartbeats_come_within_a_session() -> None:
    with pytest.raises(ConfigError, match=r"must be below session.timeout.ms, here 2000"):
        settings(session_timeout_ms=2000)


@pytest.mark.parametrize(
    ("text", "ms"),
    [("PT1H30M", 5_400_000), ("P1D", 86_400_000), ("PT0.5S", 500), ("P2DT3S", 172_803_000)],
)
def test_durations(text: str, ms: int) -> None:
    assert duration_ms(f"by_duration:{text}") == ms
    assert settings(auto_offset_reset=f"by_duration:{text}").auto_offset_reset.endswith(text)


@pytest.mark.parametrize("reset", ["soon", "by_duration:", "by_duration:P", "by_duration:1h"])
def test_other_resets_are_refused(reset: str) -> None:
    with pytest.raises(ConfigError, match=r"auto.offset.reset"):
        settings(auto_offset_reset=reset)


def test_every_setting_says_what_it_does() -> None:
    for row in rows_of(ConsumerSettings).values():
        assert row.doc.endswith(".")
        assert row.doc[0].isupper(), row.name
