"""Brings librdkafka's sources from the Rust package registry and builds its own tests, once.

The crate rdkafka-sys carries librdkafka whole, tests included. Cargo only fetches here: nothing of Rust is compiled.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tools.building import require, run
from tools.lock import exclusive

CRATE_VERSION = "4.10.0"
VERSION = "2.12.1"
CACHE = Path(__file__).resolve().parent.parent / ".cache" / f"librdkafka-{VERSION}"
TESTS = CACHE / "tests"
PROGRAMS = ("cargo", "gcc", "g++", "make", "python3")
ADVICE = "Rust's cargo, a C++ compiler and make (Debian: apt-get install g++ make zlib1g-dev)"

MANIFEST = f"""\
[package]
name = "librdkafka-sources"
version = "0.0.0"
edition = "2021"

[dependencies]
rdkafka-sys = {{ version = "={CRATE_VERSION}", default-features = false }}
"""


def built_runner() -> Path:
    """The program that runs librdkafka's tests; it must be run in its own directory."""
    program = TESTS / "test-runner"
    with exclusive(CACHE.with_name(f"{CACHE.name}.lock")):
        if not program.exists():
            require("librdkafka's tests", PROGRAMS, ADVICE)
            _fetch()
            _build()
    return program


def _fetch() -> None:
    scratch = CACHE.with_name(f"{CACHE.name}.crate")
    for directory in (scratch, CACHE):
        shutil.rmtree(directory, ignore_errors=True)
    (scratch / "src").mkdir(parents=True)
    (scratch / "src" / "lib.rs").touch()
    (scratch / "Cargo.toml").write_text(MANIFEST)
    run(["cargo", "vendor", "--quiet", "vendor"], scratch, "cargo could not fetch the sources")
    (scratch / "vendor" / "rdkafka-sys" / "librdkafka").rename(CACHE)
    shutil.rmtree(scratch)


def _build() -> None:
    failed = f"librdkafka {VERSION} could not be built in {CACHE}"
    jobs = f"-j{os.cpu_count() or 1}"
    run(["./configure", "--disable-curl", "--no-download"], CACHE, failed)
    run(["make", jobs, "libs"], CACHE, failed)
    run(["make", jobs, "-C", str(TESTS), "build"], CACHE, failed)
