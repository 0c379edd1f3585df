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
PACKAGE = REPOSITORY / ".cache" / "compiled"
COMPILER = os.environ.get("CC", "gcc").split()[0]
HEADERS = Path(sysconfig.get_path("include"), "Python.h")
ADVICE = "a C compiler and Python's headers (Debian: apt-get install gcc libc6-dev python3-dev)"


def built() -> Path:
    """Where the compiled package is; made anew when a source has changed, which takes a minute or two."""
    with exclusive(PACKAGE.with_name("compiled.lock")):
        stamp, sources = PACKAGE / ".sources", _digest()
        if not stamp.exists() or stamp.read_text() != sources:
            _build()
            stamp.write_text(sources)
    return PACKAGE


def _digest() -> str:
    """Changes with anything that the package is made of."""
    digest = hashlib.sha256(sys.version.encode())
    recipe = [REPOSITORY / "pyproject.toml", REPOSITORY / "hatch_build.py"]
    for source in (*recipe, *sorted((REPOSITORY / "src").rglob("*.py"))):
        digest.update(f"{source.relative_to(REPOSITORY)}\0".encode() + source.read_bytes())
    return digest.hexdigest()


def _build() -> None:
    require("the compiled package", [COMPILER], ADVICE)
    if not HEADERS.exists():
        raise BuildFailed(f"the compiled package cannot be built: no {HEADERS}; install {ADVICE}")
    shutil.rmtree(PACKAGE, ignore_errors=True)
    print("compiling what every request passes through ...", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--compile", "--target", str(PACKAGE), str(REPOSITORY)]
    switched_on = {**os.environ, "OTTLA_COMPILE": "1"}
    run(command, REPOSITORY, "the package could not be compiled", switched_on)


if __name__ == "__main__":
    try:
        print(built())
    except BuildFailed as failure:
        sys.exit(f"{failure}\nmake bench INTERPRETED=1 measures the sources instead")
