"""The version of ottla, read by the build and by `ottla --version`."""

from __future__ import annotations

from importlib.util import find_spec

__version__ = "0.1.0"


def is_compiled() -> bool:
    """Whether what every request passes through is machine code, as in a wheel for a platform (hatch_build.py)."""
    found = find_spec("ottla.protocol.header")
    return found is not None and not str(found.origin).endswith(".py")
