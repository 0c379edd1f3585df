"""The archive for Spark's workers holds all that the data source imports, and no more than it must."""

import json
import os
import subprocess
import sys
import tarfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from ottla.cli.main import main
from ottla.cli.spark_package import package_files, write_package
from ottla.pipeline.compiled import warm

BARE_PYTHON = getattr(sys, "_base_executable", sys.executable)
PROGRAM = """
import sys
import pyspark_ottla
from ottla.pipeline import decoding, encoding, murmur2, sink, source_batch, stream, write_stream
print(pyspark_ottla.DefaultSource.name())
"""


def test_a_python_without_site_packages_can_use_it(tmp_path: Path) -> None:
    for name, path in package_files().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(path)
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    spark = Path(found.origin).parent / "python" / "lib"
    done = subprocess.run(
        [BARE_PYTHON, "-S", "-c", PROGRAM],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, [tmp_path, *spark.glob("*.zip")])),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "ottla\n"), done.stderr


def test_what_no_import_needs_is_left_out() -> None:
    names = list(package_files())
    assert "ottla/pipeline/source.py" in names
    assert "pyspark_ottla/__init__.py" in names
    assert not [name for name in names if name.endswith(".pyc") or "/tests/" in name]
    assert not [name for name in names if name.startswith("pyspark/")]


@pytest.mark.skipif("NUMBA_CACHE_DIR" in os.environ, reason="the loops lie elsewhere")
def test_loops_that_are_compiled_travel_along() -> None:
    warm()
    loops = [name for name in package_files() if name.endswith(".nbc")]
    assert [name for name in loops if name.startswith("ottla/pipeline/__pycache__/decoding_loops")]


def test_the_archive_is_whole_or_not_there(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    to = tmp_path / "archive.tar.gz"
    packed: list[int] = []
    write_package(to, {"package/a.py": tmp_path / "a.py"}, packed.append)
    with tarfile.open(to) as archive:
        assert archive.getnames() == ["package/a.py"]
    assert packed == [6]
    with pytest.raises(FileNotFoundError):
        write_package(tmp_path / "b.tar.gz", {"b.py": tmp_path / "b.py"}, packed.append)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "archive.tar.gz"]


def test_a_name_that_spark_would_not_unpack(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spark", "package", "--to", "ottla.rar"]) == 1
    assert "end it with .tar.gz" in capsys.readouterr().err


def test_programs_are_told_what_to_submit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    monkeypatch.setattr(
        "ottla.cli.commands.spark.package.package_files", lambda: {"a.py": tmp_path / "a.py"}
    )
    to = tmp_path / "o.tar.gz"
    assert main(["spark", "package", "--to", str(to), "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["archive"], told["files"]) == (str(to), 1)
    assert told["submit"].startswith(f"--archives {to}#ottla ")
