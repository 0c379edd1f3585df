"""Settings of clients from a file, from pairs and from older names."""

from pathlib import Path

import pytest

from ottla.cli.kafka.client_options import file_and_pairs, pairs, understood
from ottla.cli.kafka.options import Given
from ottla.client.producer_settings import ProducerSettings


def test_pairs() -> None:
    assert pairs(["a=b=c", "alone", "a=last"]) == {"a": "last", "alone": ""}


def test_single_options_are_stronger_than_the_file(tmp_path: Path) -> None:
    file = tmp_path / "producer.properties"
    file.write_text("acks=1\nlinger.ms=7\n")
    given = Given()
    given.add("command-config", str(file))
    given.add("command-property", "acks=all")
    found = file_and_pairs(given, "command-config", "command-property")
    assert found == {"acks": "all", "linger.ms": "7"}


def test_what_a_client_does_not_know_is_told_and_passed_over(
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = {"acks": "1", "no.such": "1", "key.serializer": "x", "ssl.truststore": "y"}
    assert understood(ProducerSettings, settings) == {"acks": "1", "ssl.truststore": "y"}
    assert capsys.readouterr().err == "no.such is no setting of a producer and is ignored.\n"
