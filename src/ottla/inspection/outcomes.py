"""Pure: what became of several things at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ottla.base.errors import ApiError


def raise_first(results: Mapping[Any, object]) -> None:
    """Raise the first error among the outcomes for several things."""
    for result in results.values():
        if isinstance(result, ApiError):
            raise result
