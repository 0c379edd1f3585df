"""What `ottla up` hands to the REST process beside it, and what it keeps."""

import argparse

import pytest

from ottla.cli.http_beside import HttpBeside


def beside(*assignments: str, port: int | None = None) -> tuple[HttpBeside, list[str]]:
    arguments = argparse.Namespace(assignments=list(assignments), port=port)
    return HttpBeside(arguments), arguments.assignments


def test_settings_of_both_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTTLA_HTTP_LISTENERS", raising=False)
    made, left = beside("num.partitions=3", "ottla.http.read.only=true", "ottla.http.listener=:1")
    assert left == ["num.partitions=3", "ottla.http.listener=:1"]
    assert made.options == ["--set", "ottla.http.read.only=true", "--listen", "localhost:8082"]
    assert made.enabled


@pytest.mark.parametrize(
    ("port", "listen"), [(9092, 8082), (19092, 18082), (0, 0), (80, 0), (None, 8082)]
)
def test_its_port_is_as_far_from_8082_as_the_brokers_is_from_9092(
    port: int | None, listen: int
) -> None:
    made, _ = beside(port=port)
    assert made.options[-1] == f"localhost:{listen}"


def test_it_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not beside("ottla.http.enabled=false")[0].enabled
    monkeypatch.setenv("OTTLA_HTTP_ENABLED", "False")
    made, _ = beside()
    made.start("localhost:1")
    assert made.url() is None
    made.stop()
