"""What may follow kafka-server-start."""

import pytest

from ottla.cli.kafka.options import Failed
from ottla.cli.kafka.server_start import Start, main, read_arguments


def test_a_file_and_what_overrides_it() -> None:
    words = ["-daemon", "server.properties", "--override", "a=1", "--override=b=2=3"]
    assert read_arguments(words) == Start("server.properties", ("a=1", "b=2=3"), True)


@pytest.mark.parametrize(
    "words",
    [
        ["-daemon"],
        ["--override", "a=1"],
        ["file", "more"],
        ["file", "--override", "a"],
        ["file", "--override"],
    ],
)
def test_what_cannot_be_understood(words: list[str]) -> None:
    with pytest.raises(Failed, match="USAGE: kafka-server-start"):
        read_arguments(words)


def test_nothing_at_all_shows_what_to_type(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert capsys.readouterr().err.startswith("USAGE: kafka-server-start [-daemon]")
    assert main(["missing.properties"]) == 1
    assert "missing.properties" in capsys.readouterr().err
