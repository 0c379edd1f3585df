"""A bad setting of a topic is refused in words that Kafka's users know."""

import pytest

from ottla.base.errors import ConfigError
from ottla.controller.refusals import refused_setting

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
