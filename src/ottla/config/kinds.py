"""Pure: the kinds of value a setting may have; each reads, checks and prints its text.

`parse` raises ValueError with a sentence that says what is allowed. `text` prints as Kafka does.
"""

import re
import sys
from typing import ClassVar, Final, Generic, TypeVar

from ottla.base.units import INT_MAX, LONG_MAX

T = TypeVar("T")

_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)
_REPLICA: Final = re.compile(r"[0-9]+:[0-9]+", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)


class Kind(Generic[T]):
    """How values of one kind are written; `code` is DescribeConfigs' number for it."""

    __slots__ = ()
    code: ClassVar[int]
    word: ClassVar[str]

    def parse(self, text: str) -> T:
        """Reads and checks a value; ValueError says what is allowed."""
        raise NotImplementedError

    def text(self, value: T) -> str:
        """Prints a value in the one form that Kafka shows."""
        return str(value)

    def canonical(self, text: str) -> str:
        """Reads a value and prints it in that form."""
        return self.text(self.parse(text))

    def allowed(self) -> str:
        """Says what may be written, as the end of a sentence that begins with "must be"."""
        raise NotImplementedError


class Bool(Kind[bool]):
    """true or false, in any case of letters."""

    __slots__ = ()
    code, word = 1, "boolean"

    def parse(self, text: str) -> bool:
        lowered = text.strip().lower()
        if lowered not in ("true", "false"):
            raise ValueError(f"must be {self.allowed()}")
        return lowered == "true"

    def text(self, value: bool) -> str:
        return "true" if value else "false"

    def allowed(self) -> str:
        return "true or false"


class _Number(Kind[T]):
    __slots__ = ("least", "most")
    narrowest: ClassVar[float]
    widest: ClassVar[float]

    def __init__(self, least: float | None = None, most: float | None = None) -> None:
        self.least = self.narrowest if least is None else least
        self.most = self.widest if most is None else most

    def allowed(self) -> str:
        return f"{self.noun()} {self._range()}"

    def noun(self) -> str:
        return "a whole number"

    def _range(self) -> str:
        if self.least == self.narrowest and self.most == self.widest:
            return f"of {self.word} range"
        if self.most == self.widest:
            return f"of at least {self.least}"
        return f"from {self.least} to {self.most}"


class Int(_Number[int]):
    """A whole number of 32 bits, within bounds."""

    __slots__ = ()
    code, word = 3, "int"
    narrowest, widest = -INT_MAX - 1, INT_MAX

    def parse(self, text: str) -> int:
        stripped = text.strip()
        if not _WHOLE_NUMBER.fullmatch(stripped) or not self.least <= int(stripped) <= self.most:
            raise ValueError(f"must be {self.allowed()}")
        return int(stripped)


class Short(Int):
    """A whole number of 16 bits, within bounds."""

    __slots__ = ()
    code, word = 4, "short"
    narrowest, widest = -(2**15), 2**15 - 1


class Long(Int):
    """A whole number of 64 bits, within bounds."""

    __slots__ = ()
    code, word = 5, "long"
    narrowest, widest = -LONG_MAX - 1, LONG_MAX


class OrMinusOne(Int):
    """A whole number within bounds, or -1 for "the usual one"."""

    __slots__ = ()

    def parse(self, text: str) -> int:
        return -1 if text.strip() == "-1" else super().parse(text)

    def allowed(self) -> str:
        return f"{super().allowed()}, or -1"


class Double(_Number[float]):
    """A decimal number, within bounds."""

    __slots__ = ()
    code, word = 6, "double"
    narrowest, widest = -sys.float_info.max, sys.float_info.max

    def parse(self, text: str) -> float:
        stripped = text.strip()
        if not _DECIMAL.fullmatch(stripped) or not self.least <= float(stripped) <= self.most:
            raise ValueError(f"must be {self.allowed()}")
        return float(stripped)

    def text(self, value: float) -> str:
        return _java_double(value)

    def noun(self) -> str:
        return "a number"


class OptionalText(Kind[str | None]):
    """Any text; an empty one is none."""

    __slots__ = ()
    code, word = 2, "string"

    def parse(self, text: str) -> str | None:
        return text.strip() or None

    def allowed(self) -> str:
        return "any text"


class OneOf(Kind[str]):
    """One word of a few."""

    __slots__ = ("words",)
    code, word = 2, "string"

    def __init__(self, *words: str) -> None:
        self.words = words

    def parse(self, text: str) -> str:
        stripped = text.strip()
        if stripped not in self.words:
            raise ValueError(f"must be {self.allowed()}")
        return stripped

    def allowed(self) -> str:
        return _either(self.words)


class ListOf(Kind[tuple[str, ...]]):
    """Words between commas, in order; a word written twice counts once, as in Kafka."""

    __slots__ = ("empty", "words")
    code, word = 7, "list"

    def __init__(self, *words: str, empty: bool = True) -> None:
        self.words = words
        self.empty = empty

    def parse(self, text: str) -> tuple[str, ...]:
        items = [item.strip() for item in text.split(",")] if text.strip() else []
        unknown = self.words and not set(items) <= set(self.words)
        if unknown or "" in items or not (items or self.empty):
            raise ValueError(f"must be {self.allowed()}")
        return tuple(dict.fromkeys(items))

    def text(self, value: tuple[str, ...]) -> str:
        return ",".join(value)

    def allowed(self) -> str:
        of = f"{_either(self.words)}, or several of them" if self.words else "one word or several"
        return f"{of} with commas between" + (", or empty" if self.empty else "")


class ThrottledReplicas(ListOf):
    """Replicas as partition:broker, or * for all of them."""

    __slots__ = ()

    def parse(self, text: str) -> tuple[str, ...]:
        items = super().parse(text)
        if items != ("*",) and not all(_REPLICA.fullmatch(item) for item in items):
            raise ValueError(f"must be {self.allowed()}")
        return items

    def allowed(self) -> str:
        return "* for all replicas, or partition:broker, several with commas between, or empty"


class SetOf(Kind[frozenset[str]]):
    """A list whose order has no meaning, though its text keeps it."""

    __slots__ = ("of",)
    code, word = 7, "list"

    def __init__(self, of: ListOf) -> None:
        self.of = of

    def parse(self, text: str) -> frozenset[str]:
        return frozenset(self.of.parse(text))

    def text(self, value: frozenset[str]) -> str:
        return ",".join(sorted(value))

    def canonical(self, text: str) -> str:
        return self.of.canonical(text)

    def allowed(self) -> str:
        return self.of.allowed()


def _either(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _java_double(value: float) -> str:
    """Prints a double as Java does: plain from a thousandth to ten million, else with an E."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    shortest = next(t for n in range(1, 18) if float(t := f"{value:.{n}e}") == value)
    digits, _, exponent = shortest.partition("e")
    return f"{digits}E{int(exponent)}"
