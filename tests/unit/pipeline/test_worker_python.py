"""The interpreter of Spark's workers: what it takes from their path, and where it is used."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.pipeline.worker_python import python_for, worker_python


def path_seen(script: Path, path: str) -> list[str]:
    """The PYTHONPATH that a program sees which the script starts."""
    show = "import os; print(os.environ.get('PYTHONPATH'))"
    command = [str(script), "-c", show]
    found = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, check=True
    )
    return found.stdout.decode().strip().split(":")


def test_the_archives_of_spark_are_taken_from_the_path(tmp_path: Path) -> None:
    script = worker_python(tmp_path)
    archives = "/s p/python/lib/pyspark.zip:/s p/python/lib/py4j-0.10.9.9-src.zip"
    assert path_seen(script, f"{archives}:/my jobs/lib:./ottla") == ["/my jobs/lib", "./ottla"]
    assert path_seen(script, archives) == ["None"]


def test_the_daemon_is_the_one_of_pyspark_with_imports(tmp_path: Path) -> None:
    """It prints its port as PySpark's does, waits for its parent, and ends with it."""
    command = [str(worker_python(tmp_path)), "-m", "pyspark.daemon", "pyspark.worker"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as daemon:
        assert daemon.stdin is not None
        assert daemon.stdout is not None
        port = int.from_bytes(daemon.stdout.read(4))
        assert 0 < port < 65536
        daemon.stdin.close()
        daemon.wait(30)


def test_it_is_written_once_and_again_if_it_was_spoiled(tmp_path: Path) -> None:
    script = worker_python(tmp_path)
    written = script.stat().st_mtime_ns
    assert worker_python(tmp_path).stat().st_mtime_ns == written
    script.write_text("spoiled")
    assert worker_python(tmp_path).read_text().startswith("#!/bin/sh")


@pytest.mark.parametrize("master", [None, "local", "local[2]"])
def test_workers_on_this_machine_are_started_with_it(
    master: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert python_for(master, {}) == str(worker_python())


def test_workers_of_a_cluster_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "spark-defaults.conf").touch()
    assert python_for("spark://host:7077", {}) == sys.executable
    for environment in (
        {"PYSPARK_GATEWAY_PORT": "1"},
        {"MASTER": "yarn"},
        {"SPARK_CONF_DIR": str(tmp_path)},
    ):
        assert python_for(None, environment) == sys.executable


def test_without_a_cache_it_is_this_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert python_for("local", {}) == sys.executable
