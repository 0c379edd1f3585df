"""Compiled loops are kept for the next process, wherever ottla is installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ottla
from ottla.pipeline import compiled, decoding_loops, encoding_loops

LOOPS = [
    decoding_loops.read_headers,
    decoding_loops.fill,
    decoding_loops.fill_headers,
    encoding_loops.encode_headers,
    encoding_loops.pack,
    encoding_loops.partition,
]
SCRIPT = """
from ottla.pipeline import encoding_loops, murmur2
murmur2.warm()
print(encoding_loops.__file__)
print(encoding_loops.partition.stats.cache_path)
print(sum(encoding_loops.partition.stats.cache_hits.values()))
"""


@pytest.fixture(scope="module")
def read_only_copy(tmp_path_factory) -> Path:
    """An installation beside whose sources nothing can be written, not even by root."""
    home = tmp_path_factory.mktemp("installation")
    source = Path(ottla.__file__).parent
    shutil.copytree(source, home / "ottla", ignore=shutil.ignore_patterns("__pycache__"))
    (home / "ottla" / "pipeline" / "__pycache__").touch()
    return home


def run(installation: Path, **environment: str) -> tuple[Path, Path, int]:
    """Where ottla was imported from, where the cache is, and what was found in it."""
    env = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | environment
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=env | {"PYTHONPATH": str(installation)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    file, cache, hits = result.stdout.split()
    return Path(file), Path(cache), int(hits)


def test_every_loop_is_compiled_once():
    compiled.warm()
    compiled.warm()
    assert [len(loop.signatures) for loop in LOOPS] == [1] * len(LOOPS)


def test_a_read_only_installation_is_compiled_into_the_cache_of_the_user(read_only_copy, tmp_path):
    places = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    file, cache, _ = run(read_only_copy, **places)
    assert file.is_relative_to(read_only_copy)
    assert cache.is_relative_to(tmp_path / "cache")
    assert run(read_only_copy, **places)[2] == 1


def test_without_a_home_the_temporary_directory_keeps_what_was_compiled(read_only_copy, tmp_path):
    nowhere = "/dev/null/nowhere"
    places = {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "TMPDIR": str(tmp_path)}
    _, cache, _ = run(read_only_copy, **places)
    kept = tmp_path / f"ottla-numba-{os.getuid()}"
    assert cache.is_relative_to(kept)
    assert kept.stat().st_mode & 0o777 == 0o700
    assert run(read_only_copy, **places)[2] == 1


def test_a_cache_that_others_can_write_to_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shared = tmp_path / f"ottla-numba-{os.getuid()}"
    shared.mkdir()
    shared.chmod(0o777)
    chosen = compiled._temporary_cache()
    assert chosen != shared
    assert chosen.stat().st_mode & 0o777 == 0o700
