"""Pure: which names a topic may have."""

import re
from collections.abc import Iterable
from typing import Final

MAX_NAME_LENGTH: Final = 249
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+", re.ASCII)


def why_invalid(name: str) -> str | None:
    """Says why no topic may have this name; None if one may."""
    if not name:
        return "a topic must have a name"
    if name in (".", ".."):
        return f"a topic cannot be named {name!r}"
    if len(name) > MAX_NAME_LENGTH:
        return f"a topic name has at most {MAX_NAME_LENGTH} characters, and this has {len(name)}"
    if not _LEGAL.fullmatch(name):
        return (
            f"Topic name is invalid: {name!r} contains one or more characters other than ASCII "
            "alphanumerics, '.', '_' and '-'"
        )
    return None


def colliding(name: str, others: Iterable[str]) -> str | None:
    """Finds another name that differs in '.' and '_' alone: metrics could not tell them apart."""
    if "." not in name and "_" not in name:
        return None
    unified = name.replace(".", "_")
    size = len(name)
    alike = (o for o in others if len(o) == size and o.replace(".", "_") == unified)
    return next((other for other in alike if other != name), None)
