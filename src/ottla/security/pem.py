"""Pure: PEM as properties files carry it, with its lines joined, back to what OpenSSL reads."""

from __future__ import annotations

import re
from typing import Final

_BLOCK: Final = re.compile(
    r"(-{5}BEGIN [^-\n]+-{5})\s*([A-Za-z0-9+/=\s]*?)\s*(-{5}END [^-\n]+-{5})"
)
_LINE: Final = re.compile(r"\S{1,64}")


def with_lines(text: str) -> str:
    """The same blocks, each with its base64 in lines; what is no such block stays as it is."""
    return _BLOCK.sub(_lines, text)


def _lines(block: re.Match[str]) -> str:
    begin, base64, end = block.groups()
    joined = "".join(base64.split())
    return "\n".join(("", begin, *_LINE.findall(joined), end, ""))
