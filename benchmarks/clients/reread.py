"""Reads a partition from the disk again and again until it is ended."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.clients import consume
from benchmarks.processes import evict_from_page_cache


def main(spec: dict[str, Any]) -> None:
    """Drops the files from the page cache before each pass."""
    while True:
        evict_from_page_cache(Path(spec["directory"]))
        consume.main(spec)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
