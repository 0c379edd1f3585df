"""Java or pyspark that is missing or too old is one sentence that says what to install."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ottla.pipeline import requirements
from ottla.pipeline.requirements import (
    SparkUnavailable,
    java_version,
    require_java,
    require_pyspark,
    require_spark,
)
from ottla.pipeline.schema import source_schema
from ottla.pipeline.source import OttlaSource


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java of the test's own; what it says is what the file holds."""
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    return program


def says(program: Path, banner: str) -> None:
    program.write_text(f"#!/bin/sh\necho '{banner}' >&2\n")
    program.chmod(0o755)


def pyspark_is(monkeypatch: pytest.MonkeyPatch, found: str | None) -> None:
    monkeypatch.setattr(requirements, "_pyspark_version", lambda: found)


@pytest.mark.parametrize(
    ("banner", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ("command not understood", None),
    ],
)
def test_the_version_that_java_tells(banner: str, version: int | None) -> None:
    assert java_version(banner) == version


def test_a_java_that_is_new_enough(java: Path) -> None:
    says(java, 'openjdk version "21.0.1" 2023-10-17')
    assert require_java() == 21


def test_a_java_that_is_too_old(java: Path) -> None:
    says(java, 'openjdk version "11.0.2" 2019-01-15')
    with pytest.raises(SparkUnavailable, match=r"is Java 11, too old for Spark: install Java 17"):
        require_java()


def test_a_java_home_without_java(java: Path) -> None:
    with pytest.raises(SparkUnavailable, match=r"does not start .*: install Java 17"):
        require_java()


def test_no_java_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(SparkUnavailable, match="there is none: install Java 17"):
        require_java()


def test_no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    pyspark_is(monkeypatch, None)
    with pytest.raises(SparkUnavailable, match=r"not installed: pip install 'ottla\[spark\]'"):
        require_spark()


@pytest.mark.parametrize("old", ["3.5.7", "4.0.0", "4.1.1"])
def test_an_old_pyspark(monkeypatch: pytest.MonkeyPatch, old: str) -> None:
    pyspark_is(monkeypatch, old)
    with pytest.raises(SparkUnavailable, match=rf"pyspark {old} is too old, 4\.2 is the first"):
        require_pyspark()


SOURCE = OttlaSource({"kafka.bootstrap.servers": "localhost:9092", "subscribe": "t"})
ANY = source_schema(False)
WAYS_IN: dict[str, Callable[[], object]] = {
    "schema": SOURCE.schema,
    "reader": lambda: SOURCE.reader(ANY),
    "streamReader": lambda: SOURCE.streamReader(ANY),
    "writer": lambda: SOURCE.writer(ANY, False),
    "streamWriter": lambda: SOURCE.streamWriter(ANY, False),
}


@pytest.mark.parametrize("way", WAYS_IN)
def test_what_the_source_needs_is_told_wherever_spark_comes_in(
    monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "numba", None)
        without.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(SparkUnavailable, match=r"needs numba and pyarrow, .* pip install"):
            WAYS_IN[way]()
    pyspark_is(monkeypatch, "4.1.0")
    with pytest.raises(SparkUnavailable, match=r"pyspark 4\.1\.0 is too old"):
        WAYS_IN[way]()


@pytest.mark.parametrize("new", ["4.2.0", "4.3.0.dev1", "4.10.0"])
def test_a_new_pyspark(monkeypatch: pytest.MonkeyPatch, new: str) -> None:
    pyspark_is(monkeypatch, new)
    assert require_pyspark() == new


def test_an_import_that_fails_inside_pyspark_tells_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyspark.py").write_text("import tea_leaves\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    with pytest.raises(ModuleNotFoundError, match="tea_leaves"):
        require_pyspark()
