"""Builds the package as a wheel for this platform has it: what every request passes through is compiled.

`python -m tools.compiled` prints the directory, to be the first of PYTHONPATH.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import sysconfig
from pathlib import Path

from tools.building import BuildFailed, require, run
from tools.lock import exclusive

REPOSITORY = Path(__file__).resolve().parent.parent
CACHE = REPOSITORY / ".cache"
COMPILER = os.environ.get("CC", "gcc").split()[0]
HEADERS = Path(sysconfig.get_path("include"), "Python.h")
ADVICE = "a C compiler and Python's headers (Debian: apt-get install gcc libc6-dev python3-dev)"


def built(mode: str = "1") -> Path:
    """Where the compiled package is; made anew when a source has changed, which takes a minute.

    The mode is a value of OTTLA_COMPILE: what is "quick" to build is as correct, but not as fast.
    """
    package = CACHE / ("compiled" if mode == "1" else f"compiled-{mode}")
    with exclusive(package.with_name(f"{package.name}.lock")):
        stamp, sources = package / ".sources", _digest()
        if not stamp.exists() or stamp.read_text() != sources:
            _build(package, mode)
            stamp.write_text(sources)
    return package


def _digest() -> str:
    """Changes with anything that the package is made of."""
    digest = hashlib.sha256(sys.version.encode())
    recipe = [REPOSITORY / "pyproject.toml", REPOSITORY / "hatch_build.py"]
    for source in (*recipe, *sorted((REPOSITORY / "src").rglob("*.py"))):
        digest.update(f"{source.relative_to(REPOSITORY)}\0".encode() + source.read_bytes())
    return digest.hexdigest()


def _build(package: Path, mode: str) -> None:
    require("the compiled package", [COMPILER], ADVICE)
    if not HEADERS.exists():
        raise BuildFailed(f"the compiled package cannot be built: no {HEADERS}; install {ADVICE}")
    shutil.rmtree(package, ignore_errors=True)
    print("compiling what every request passes through ...", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--compile", "--target", str(package), str(REPOSITORY)]
    switched_on = {**os.environ, "OTTLA_COMPILE": mode}
    run(command, REPOSITORY, "the package could not be compiled", switched_on)


if __name__ == "__main__":
    try:
        print(built())
    except BuildFailed as failure:
        sys.exit(f"{failure}\nmake bench INTERPRETED=1 measures the sources instead")
