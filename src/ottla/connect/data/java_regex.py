"""Pure: regular expressions and replacements as java.util.regex reads them."""

from __future__ import annotations

import re

_GROUP = re.compile(r"\\(.)|\$(\d)|\$\{([A-Za-z][A-Za-z0-9]*)\}|\$")


def compile_java(pattern: str) -> re.Pattern[str]:
    """Return a compiled pattern; ValueError with the reason if it is none.

    Named groups are written (?<name>...) in Java.
    """
    try:
        return re.compile(re.sub(r"\(\?<([A-Za-z])", r"(?P<\1", pattern))
    except re.error as wrong:
        raise ValueError(f"Invalid regular expression: {wrong}") from None


def expand(found: re.Match[str], replacement: str) -> str:
    """Return a replacement with $1 and ${name} filled in from a match."""

    def fill(token: re.Match[str]) -> str:
        if token[1] is not None:
            return token[1]
        name = token[2] if token[2] is not None else token[3]
        if name is None:
            raise ValueError("Illegal group reference")
        return found.group(int(name) if name.isdigit() else name) or ""

    return _GROUP.sub(fill, replacement)
