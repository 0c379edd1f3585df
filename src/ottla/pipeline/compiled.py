"""Loops over records, compiled by numba once a machine and kept in a cache that can always be written."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import config as numba_config

P = ParamSpec("P")
R = TypeVar("R")

config: Any = numba_config


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """The function in machine code, without the GIL.

    numba looks for a cache in NUMBA_CACHE_DIR, beside the source and in the user's cache directory,
    and gives up where none can be written (a read-only installation without a home): then the
    temporary directory serves. What a function calls belongs in its own file, since the cache
    notices changes of that file alone.
    """
    try:
        return _compile(function)
    except RuntimeError:
        before, config.CACHE_DIR = config.CACHE_DIR, str(_temporary_cache())
        try:
            return _compile(function)
        finally:
            config.CACHE_DIR = before


def _compile(function: Callable[P, R]) -> Callable[P, R]:
    compiled: Any = numba.njit(cache=True, nogil=True)(function)
    return cast(Callable[P, R], compiled)


def _temporary_cache() -> Path:
    """A directory nobody else can write to: what lies in a cache is loaded as code."""
    shared = Path(tempfile.gettempdir(), f"ottla-numba-{os.getuid()}")
    try:
        shared.mkdir(mode=0o700, exist_ok=True)
        found = shared.lstat()
    except OSError:
        return Path(tempfile.mkdtemp(prefix="ottla-numba-"))
    private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o022
    if private and found.st_uid == os.getuid():
        return shared
    return Path(tempfile.mkdtemp(prefix="ottla-numba-"))


def warm() -> None:
    """Compile every loop, or load it from the cache, before the first record is waited for."""
    from ottla.pipeline import decoding, encoding, murmur2

    for module in (decoding, encoding, murmur2):
        module.warm()
