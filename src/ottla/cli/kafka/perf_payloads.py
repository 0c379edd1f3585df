"""What performance tests send."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

from ottla.base.units import KiB
from ottla.cli.kafka.options import Failed

Payloads: TypeAlias = Iterator[bytes]

_LETTERS: Final = bytes(65 + byte % 26 for byte in range(256))
_POOL_BYTES: Final = 256 * KiB


def random_letters(size: int) -> bytes:
    """Letters from A to Z."""
    return os.urandom(size).translate(_LETTERS)


def random_payloads(size: int) -> Payloads:
    """Letters without end: windows of a pool, since making new ones would be what is measured."""
    pool = random_letters(size + _POOL_BYTES)
    while True:
        start = int(random.random() * _POOL_BYTES)
        yield pool[start : start + size]


def numbers() -> Payloads:
    """0, 1, 2 and so on."""
    number = 0
    while True:
        yield b"%d" % number
        number += 1


def file_payloads(path: str, delimiter: str) -> Payloads:
    """Parts of a file, at random."""
    print(f"Reading payloads from: {Path(path).absolute()}")
    content = Path(path).read_bytes() if Path(path).exists() else b""
    if not content:
        raise Failed("File does not exist or empty file provided.")
    separator = b"\n" if delimiter == "\\n" else delimiter.encode()
    parts = content.removesuffix(separator).split(separator)
    print(f"Number of records read: {len(parts)}")
    return iter(lambda: random.choice(parts), None)
