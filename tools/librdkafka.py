"""Brings librdkafka's sources from the Rust package registry and builds its own tests, once.

The crate rdkafka-sys carries librdkafka whole, tests included. Cargo only fetches here: nothing of Rust is compiled.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tools.lock import exclusive

CRATE_VERSION = "4.10.0"
VERSION = "2.12.1"
CACHE = Path(__file__).resolve().parent.parent / ".cache" / f"librdkafka-{VERSION}"
TESTS = CACHE / "tests"
PROGRAMS = ("cargo", "gcc", "g++", "make", "python3")
LAST_LINES = 15

MANIFEST = f"""\
[package]
name = "librdkafka-sources"
version = "0.0.0"
edition = "2021"

[dependencies]
rdkafka-sys = {{ version = "={CRATE_VERSION}", default-features = false }}
"""


class LibrdkafkaUnavailable(Exception):
    """The tests cannot be fetched or built on this machine; the message says why."""


def built_runner() -> Path:
    """The program that runs librdkafka's tests; it must be run in its own directory."""
    program = TESTS / "test-runner"
    with exclusive(CACHE.with_name(f"{CACHE.name}.lock")):
        if not program.exists():
            _require_programs()
            _fetch()
            _build()
    return program


def _require_programs() -> None:
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        raise LibrdkafkaUnavailable(
            f"librdkafka's tests cannot be built: {', '.join(missing)} not found; install Rust's "
            "cargo, and a C++ compiler and make (Debian: apt-get install g++ make zlib1g-dev)"
        )


def _fetch() -> None:
    scratch = CACHE.with_name(f"{CACHE.name}.crate")
    for directory in (scratch, CACHE):
        shutil.rmtree(directory, ignore_errors=True)
    (scratch / "src").mkdir(parents=True)
    (scratch / "src" / "lib.rs").touch()
    (scratch / "Cargo.toml").write_text(MANIFEST)
    _run(["cargo", "vendor", "--quiet", "vendor"], scratch, "cargo could not fetch the sources")
    (scratch / "vendor" / "rdkafka-sys" / "librdkafka").rename(CACHE)
    shutil.rmtree(scratch)


def _build() -> None:
    failed = f"librdkafka {VERSION} could not be built in {CACHE}"
    jobs = f"-j{os.cpu_count() or 1}"
    _run(["./configure", "--disable-curl", "--no-download"], CACHE, failed)
    _run(["make", jobs, "libs"], CACHE, failed)
    _run(["make", jobs, "-C", str(TESTS), "build"], CACHE, failed)


def _run(command: Sequence[str], directory: Path, failed: str) -> None:
    done = subprocess.run(
        command,
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        last = "\n".join(done.stdout.splitlines()[-LAST_LINES:])
        raise LibrdkafkaUnavailable(f"{failed}; `{' '.join(command)}` said:\n{last}")
