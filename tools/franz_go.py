"""Brings franz-go from the Go module proxy and builds the tests of its client, once."""

from __future__ import annotations

import json
from pathlib import Path

from tools.building import require, run
from tools.lock import exclusive

MODULE = "github.com/twmb/franz-go"
VERSION = "1.22.2"
CACHE = Path(__file__).resolve().parent.parent / ".cache" / f"franz-go-{VERSION}"
PACKAGE = "pkg/kgo"


def built_tests() -> tuple[Path, Path]:
    """The program that runs the tests, and the directory it must be run in."""
    program = CACHE / "kgo.test"
    with exclusive(CACHE.with_name(f"{CACHE.name}.lock")):
        require("franz-go's tests", ("go",), "Go 1.24 or newer (Debian: apt-get install golang)")
        CACHE.mkdir(parents=True, exist_ok=True)
        fetched = f"{MODULE}@v{VERSION} could not be fetched"
        told = run(["go", "mod", "download", "-json", f"{MODULE}@v{VERSION}"], CACHE, fetched)
        sources = Path(json.loads(told)["Dir"])
        if not program.exists():
            command = ["go", "test", "-c", "-o", str(program), f"./{PACKAGE}"]
            run(command, sources, f"the tests of {MODULE} could not be built")
    return program, sources / PACKAGE
