"""A bad setting of a topic or a group is refused in words that Kafka's users know."""

import pytest

from ottla.base.errors import ConfigError
from ottla.controller.refusals import refused_group_setting, refused_setting

CASES = {
    "an unknown name": (
        ConfigError("no.such", "1", "is not a topic setting"),
        "Unknown topic config name: no.such",
    ),
    "not a number": (
        ConfigError("retention.ms", "abc", "must be a whole number of at least -1"),
        "Invalid value abc for configuration retention.ms: Not a number of type LONG",
    ),
    "a number out of range": (
        ConfigError("retention.ms", "-5", "must be a whole number of at least -1"),
        "Invalid value -5 for configuration retention.ms: Value must be a whole number of at least -1",
    ),
    "a word that is none of the choices": (
        ConfigError("cleanup.policy", "x", "must be compact or delete"),
        "Invalid value x for configuration cleanup.policy: Value must be compact or delete",
    ),
}


@pytest.mark.parametrize(("error", "sentence"), CASES.values(), ids=CASES.keys())
def test_what_is_said(error: ConfigError, sentence: str) -> None:
    assert refused_setting(error) == sentence


SESSION = "consumer.session.timeout.ms"
GROUP_CASES = {
    "an unknown name": (
        ConfigError("no.such", "1", "is not a group setting"),
        "Unknown group config name: no.such",
    ),
    "one without meaning here": (
        ConfigError("share.session.timeout.ms", "1", "share groups are not served"),
        "share.session.timeout.ms=1: share groups are not served",
    ),
    "not a number": (
        ConfigError(SESSION, "1.5", "must be a whole number of at least 1"),
        f"Invalid value 1.5 for configuration {SESSION}: Not a number of type INT",
    ),
    "too large for a number": (
        ConfigError(SESSION, "99999999999", "must be a whole number of at least 1"),
        f"Invalid value 99999999999 for configuration {SESSION}: Not a number of type INT",
    ),
    "a number that never can be": (
        ConfigError(SESSION, "0", "must be a whole number of at least 1"),
        f"Invalid value 0 for configuration {SESSION}: Value must be at least 1",
    ),
    "a number that never can be, where none may be": (
        ConfigError(
            "consumer.assignment.interval.ms", "-1", "must be a whole number of at least 0"
        ),
        "Invalid value -1 for configuration consumer.assignment.interval.ms: Value must be at least 0",
    ),
    "a number out of bounds": (
        ConfigError(SESSION, 5, "must be greater than or equal to something"),
        f"{SESSION} must be greater than or equal to something",
    ),
}


@pytest.mark.parametrize(("error", "sentence"), GROUP_CASES.values(), ids=GROUP_CASES.keys())
def test_what_is_said_of_groups(error: ConfigError, sentence: str) -> None:
    assert refused_group_setting(error) == sentence
