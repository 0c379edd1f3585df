"""Errors say what happened, to what, and what to do."""

from ottla.base.errors import ApiError, ConfigError, OttlaError


def test_a_config_error_names_the_setting_and_the_value():
    error = ConfigError("log.segment.bytes", "10", "must be at least 14")
    assert str(error) == "log.segment.bytes=10: must be at least 14"


def test_a_config_error_without_a_value_names_the_setting():
    assert str(ConfigError("broker.conf", None, "cannot be read")) == "broker.conf: cannot be read"


def test_an_api_error_shows_its_message_or_its_code():
    assert str(ApiError(3, "no such topic")) == "no such topic"
    assert str(ApiError(3)) == "error code 3"
    assert isinstance(ApiError(3), OttlaError)
