"""Puts ottla, and what its data source imports, into an archive that Spark unpacks on workers.

The files are those of this environment: workers need the same Python, and nothing else. Spark itself brings pyspark.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ottla.pipeline.requirements import SparkUnavailable

PACKAGES: Final = ("ottla", "pyspark_ottla")
DISTRIBUTIONS: Final = ("cramjam", "fastcrc", "llvmlite", "numba", "numpy", "pyarrow")
"""What is imported below `ottla.pipeline`; the broker's own needs stay at home."""

_LEFT_OUT: Final = frozenset(("__pycache__", "tests", "include"))
"""Folders that no import needs; they are a good part of the whole."""
_COMPILED: Final = (".nbi", ".nbc")
"""Loops that numba has compiled; it takes them wherever their source has kept its time and size, as it does here."""
_COMPRESSION: Final = 1
"""Three times as fast as the usual 6, for an archive a tenth larger."""


def package_files() -> dict[str, Path]:
    """Where each file of the archive is, by its name in there."""
    found: dict[str, Path] = {}
    for name in PACKAGES:
        root = _package_root(name)
        files = (path for path in root.rglob("*") if path.is_file())
        found.update({str(path.relative_to(root.parent)): path for path in files})
        # Where ottla came as a wheel with compiled modules, this is what they are in.
        found.update({path.name: path for path in root.parent.glob(f"{name}__mypyc.*")})
    for name in DISTRIBUTIONS:
        found.update(_distribution_files(name))
    return {name: path for name, path in sorted(found.items()) if _is_needed(name)}


def write_package(to: Path, files: dict[str, Path], on_bytes: Callable[[int], None]) -> int:
    """Write the archive; its size. What is half-written is not left behind."""
    partial = to.with_name(f".{to.name}.partial")
    try:
        with tarfile.open(partial, "w:gz", compresslevel=_COMPRESSION) as archive:
            for name, path in files.items():
                archive.add(path, arcname=name, recursive=False)
                on_bytes(path.stat().st_size)
        partial.replace(to)
    finally:
        partial.unlink(missing_ok=True)
    return to.stat().st_size


def _package_root(name: str) -> Path:
    found = find_spec(name)
    if found is None or found.origin is None:
        raise SparkUnavailable(f"the package {name} cannot be found; install ottla again")
    return Path(found.origin).parent


def _distribution_files(name: str) -> Iterator[tuple[str, Path]]:
    try:
        files = distribution(name).files
    except PackageNotFoundError:
        files = None
    if files is None:
        raise SparkUnavailable(f"{name} is not installed: pip install 'ottla[spark]'")
    for each in files:
        path = Path(str(each.locate()))
        # A distribution also names its programs, which lie elsewhere.
        if ".." not in each.parts and path.is_file():
            yield str(each), path


def _is_needed(name: str) -> bool:
    return name.endswith(_COMPILED) or _LEFT_OUT.isdisjoint(Path(name).parts[:-1])
