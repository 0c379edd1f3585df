"""Pure: regular expressions of strangers: those that could take for ever on a short text are refused.

Python's engine backtracks. Repeats inside of repeats take exponential time; n repeats one after the other take the n-th
power of the length of the text, which is fine for names of topics and few repeats.
"""

from __future__ import annotations

import re
from re import _constants as sre  # type: ignore[attr-defined]  # typeshed does not know it
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any, Final

MOST_CHARACTERS: Final = 500
MOST_REPEATS: Final = 3
_MANY: Final = 50
_REPEATS: Final = (sre.MAX_REPEAT, sre.MIN_REPEAT)


class UnsafePattern(ValueError):
    """An expression that is none, or could take too long."""


def safe_pattern(text: str) -> re.Pattern[str]:
    """The compiled expression; UnsafePattern says what is wrong with it."""
    if len(text) > MOST_CHARACTERS:
        raise UnsafePattern(f"a regular expression has at most {MOST_CHARACTERS} characters here")
    try:
        tree = sre_parser.parse(text)
        compiled = re.compile(text)
    except (re.error, OverflowError, RecursionError) as flaw:
        raise UnsafePattern(f"this is no regular expression: {flaw}") from None
    if _repeats(tree, within=False) > MOST_REPEATS:
        raise UnsafePattern(f"at most {MOST_REPEATS} of *, + and {{n,}} are allowed here")
    return compiled


def _repeats(tree: Any, *, within: bool) -> int:
    """How many unbounded repeats there are; one inside of another is refused."""
    found = 0
    for operator, argument in tree:
        if operator in _REPEATS:
            _, most, inner = argument
            unbounded = most is sre.MAXREPEAT or most > _MANY
            if unbounded and within:
                raise UnsafePattern("a repeat inside of a repeat could take for ever")
            found += unbounded + _repeats(inner, within=within or unbounded)
        elif operator is sre.SUBPATTERN:
            found += _repeats(argument[-1], within=within)
        elif operator is sre.BRANCH:
            if within:
                raise UnsafePattern("alternatives inside of a repeat could take for ever")
            found += sum(_repeats(each, within=within) for each in argument[1])
        elif operator in (sre.ASSERT, sre.ASSERT_NOT):
            found += _repeats(argument[1], within=within)
        elif operator in (sre.GROUPREF, sre.GROUPREF_EXISTS):
            raise UnsafePattern("references to groups are not allowed here")
    return found
