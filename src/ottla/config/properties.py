"""Pure: reads Java's properties files."""

import re
from collections.abc import Iterator
from typing import Final

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_BLANK: Final = " \t\f"
_KEY: Final = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.)|$)", re.DOTALL)
_LETTERS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> dict[str, str]:
    """Reads names and values; of a name written twice, the last one counts.

    ValueError if a Unicode escape is cut short.
    """
    found: dict[str, str] = {}
    for line in _logical_lines(text):
        key = _KEY.match(line)
        assert key is not None  # the pattern matches the empty string
        found[_unescaped(key[1])] = _unescaped(line[key.end() :])
    return found


def _logical_lines(text: str) -> Iterator[str]:
    """Joins lines that end in an odd number of backslashes to the ones that follow."""
    held = ""
    for raw in _LINE_END.split(text):
        line = raw.lstrip(_BLANK)
        if not held and (not line or line[0] in "#!"):
            continue
        held += line
        if _continues(line):
            held = held[:-1]
        else:
            yield held
            held = ""
    if held:
        yield held


def _continues(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_replacement, text) if "\\" in text else text


def _replacement(escape: re.Match[str]) -> str:
    code, letter = escape.groups()
    if letter == "u":
        raise ValueError("\\u must be followed by four hexadecimal digits")
    return chr(int(code, 16)) if code else _LETTERS.get(letter, letter or "")
