"""Installs the wheel into an empty environment and does what the README's first five minutes do, without the checkout.

    python -m tools.check_wheel             # make check-wheel
    python -m tools.check_wheel --python python3.13

Needs the package index, so `make test` does not run it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.building import BuildFailed

REPOSITORY = Path(__file__).resolve().parent.parent
_READY_WITHIN_S = 30
_PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


def main() -> int:
    """Build, install, try; the exit code."""
    options = argparse.ArgumentParser(description="Try the wheel as a stranger would.")
    options.add_argument("--python", default=sys.executable, help="the Python to install it in")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="ottla-wheel-") as directory:
        place = Path(directory)
        build = (*_PIP, "wheel", "--no-deps", "--wheel-dir", str(place), str(REPOSITORY))
        _run([sys.executable, *build], REPOSITORY)
        [wheel] = place.glob("ottla-*.whl")
        _run([chosen.python, "-m", "venv", str(place / "venv")], place)
        binaries = place / "venv" / "bin"
        _run([str(binaries / "python"), *_PIP, "install", str(wheel), "confluent-kafka"], place)
        _first_minutes(binaries, place)
    print(f"{wheel.name} works in an empty environment of {chosen.python}")
    return 0


def _first_minutes(binaries: Path, place: Path) -> None:
    """Start a broker, run the README's example twice, and read its files."""
    up = subprocess.Popen(
        [str(binaries / "ottla"), "up", "--port", "0", "--set", "ottla.http.enabled=false"],
        cwd=place,
        env=_bare(),
        stdout=(place / "up.out").open("wb"),
    )
    try:
        bootstrap = _bootstrap(place / "up.out")
        readme = (REPOSITORY / "README.md").read_text()
        [example, *_] = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
        (place / "example.py").write_text(example.replace("localhost:9092", bootstrap))
        for _ in range(2):
            said = _run([str(binaries / "python"), "example.py"], place)
            if said.strip() != "1000":
                raise BuildFailed(f"the README's example printed {said!r}, not 1000")
        _run([str(binaries / "kafka-topics"), "--bootstrap-server", bootstrap, "--list"], place)
        log = "ottla-data/letters-0/00000000000000000000.log"
        _run([str(binaries / "kafka-dump-log"), "--deep-iteration", "--files", log], place)
    finally:
        up.terminate()
        up.wait(30)


def _bootstrap(output: Path) -> str:
    deadline = time.monotonic() + _READY_WITHIN_S
    while time.monotonic() < deadline:
        if found := re.search(r"ready on (\S+)$", output.read_text(), re.MULTILINE):
            return found[1]
        time.sleep(0.1)
    raise BuildFailed(f"ottla up was not ready within {_READY_WITHIN_S} s: {output.read_text()}")


def _run(command: list[str], place: Path) -> str:
    done = subprocess.run(
        command, cwd=place, env=_bare(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BuildFailed(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def _bare() -> dict[str, str]:
    """The environment, without what would lead back to the checkout."""
    ours = ("PYTHON", "VIRTUAL_ENV", "OTTLA_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BuildFailed as failure:
        sys.exit(str(failure))
