"""Secrets stay references until the moment of use."""

from pathlib import Path

import pytest

from ottla.connect.errors import ConfigInvalid
from ottla.connect.references import resolved


def test_values_come_from_the_environment_and_from_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = tmp_path / "secrets.properties"
    secrets.write_text("password=p:w}d\n")
    monkeypatch.setenv("CONNECT_USER", "ann")
    found = resolved(
        {"url": f"db://${{env:CONNECT_USER}}:${{file:{secrets}:password}}@h", "n": None}
    )
    assert found == {"url": "db://ann:p:w}d@h", "n": None}


@pytest.mark.parametrize("text", ["${env:NOT_THERE_AT_ALL}", "${file:/nowhere:key}"])
def test_what_is_missing_is_named(text: str) -> None:
    with pytest.raises(ConfigInvalid, match=r"NOT_THERE_AT_ALL|/nowhere"):
        resolved({"password": text})


def test_other_dollars_are_left_alone() -> None:
    assert resolved({"format": "${topic}-$1"}) == {"format": "${topic}-$1"}
