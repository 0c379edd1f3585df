"""Pure: reads the syntax of RE2 and turns a pattern into instructions for `topic_pattern`.

Topics have names of ASCII letters, digits, dots, dashes and underscores, so a class of characters is a number with a
bit for each of 128 characters. What RE2 has no syntax for (references back, looking around) is refused, as Kafka does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

from ottla.base.errors import OttlaError

Mask: TypeAlias = int
"""The characters that an instruction takes, a bit for each."""

_ALL: Final = (1 << 128) - 1
_MAX_INSTRUCTIONS: Final = 2000
_MAX_REPEAT: Final = 1000
_MAX_DEPTH: Final = 100


class BadPattern(OttlaError):
    """The pattern is not one that RE2 reads; the message says why."""


def mask_of(characters: Iterable[str]) -> Mask:
    """The class of these characters."""
    return sum(1 << ord(c) for c in set(characters) if ord(c) < 128)


def _span(first: str, last: str) -> Mask:
    return mask_of(chr(n) for n in range(ord(first), min(ord(last), 127) + 1))


_DIGIT: Final = _span("0", "9")
_UPPER: Final = _span("A", "Z")
_LOWER: Final = _span("a", "z")
WORD: Final = _DIGIT | _UPPER | _LOWER | mask_of("_")
_SPACE: Final = mask_of("\t\n\f\r ")
_PUNCTUATION: Final = _span("!", "/") | _span(":", "@") | _span("[", "`") | _span("{", "~")
_ESCAPED_CLASSES: Final[dict[str, Mask]] = {
    "d": _DIGIT, "D": _ALL & ~_DIGIT, "w": WORD, "W": _ALL & ~WORD, "s": _SPACE, "S": _ALL & ~_SPACE,
}  # fmt: skip
_NAMED_CLASSES: Final[dict[str, Mask]] = {
    "alnum": _DIGIT | _UPPER | _LOWER, "alpha": _UPPER | _LOWER, "ascii": _ALL, "blank": mask_of("\t "),
    "cntrl": _span("\0", "\x1f") | mask_of("\x7f"), "digit": _DIGIT, "graph": _span("!", "~"), "lower": _LOWER,
    "print": _span(" ", "~"), "punct": _PUNCTUATION, "space": _SPACE | mask_of("\v"), "upper": _UPPER, "word": WORD,
    "xdigit": _DIGIT | _span("A", "F") | _span("a", "f"),
}  # fmt: skip
_UNICODE_CLASSES: Final[dict[str, Mask]] = {
    "L": _UPPER | _LOWER, "Lu": _UPPER, "Ll": _LOWER, "N": _DIGIT, "Nd": _DIGIT,
    "P": _PUNCTUATION & ~mask_of("$+<=>^`|~"), "Latin": _UPPER | _LOWER, "Greek": 0, "Cyrillic": 0,
}  # fmt: skip
_ESCAPED_CHARACTERS: Final = {
    "a": "\a",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}


class Take(NamedTuple):
    """One character of a class."""

    mask: Mask


class Check(NamedTuple):
    """No character, but a condition on where it is: `^`, `$`, `b` or `B`."""

    what: str


class Row(NamedTuple):
    """One thing after another."""

    items: tuple[Node, ...]


class Choice(NamedTuple):
    """One of several things."""

    items: tuple[Node, ...]


class Repeat(NamedTuple):
    """A thing several times; without `most`, any number of times."""

    item: Node
    least: int
    most: int | None


Node: TypeAlias = Take | Check | Row | Choice | Repeat


def parse(pattern: str) -> Node:
    """The meaning of a pattern; BadPattern if it has none."""
    parser = _Parser(pattern)
    node = parser.choice(0)
    if parser.pos < len(pattern):
        raise BadPattern("unexpected )")
    if size(node) > _MAX_INSTRUCTIONS:
        raise BadPattern("expression too large")
    return node


def size(node: Node) -> int:
    """How many instructions a part of a pattern takes."""
    if isinstance(node, Take | Check):
        return 1
    if isinstance(node, Repeat):
        return (size(node.item) + 1) * max(node.least + 1, node.most or 0)
    return sum(size(item) + 1 for item in node.items) + 1


class _Parser:
    """Reads a pattern from left to right; a quantifier belongs to the thing before it."""

    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.pos = 0
        self._fold = False
        self._dot_all = False
        self._multi_line = False

    def choice(self, depth: int) -> Node:
        """Alternatives up to the end or a closing parenthesis."""
        if depth > _MAX_DEPTH:
            raise BadPattern("expression nests too deeply")
        items = [self._row(depth)]
        while self._skip("|"):
            items.append(self._row(depth))
        return items[0] if len(items) == 1 else Choice(tuple(items))

    def _row(self, depth: int) -> Node:
        items: list[Node] = []
        while self.pos < len(self.text) and self.text[self.pos] not in "|)":
            item = self._item(depth)
            if item is not None:
                items.append(self._repeated(item))
        return items[0] if len(items) == 1 else Row(tuple(items))

    def _item(self, depth: int) -> Node | None:
        character = self._next()
        if character == "(":
            return self._group(depth)
        if character == "[":
            return Take(self._folded(self._class()))
        if character == ".":
            return Take(_ALL if self._dot_all else _ALL & ~mask_of("\n"))
        if character in "^$":
            return Check(character if not self._multi_line else f"{character}m")
        if character == "\\":
            return self._escape()
        if character in "*+?":
            raise BadPattern(f"missing argument to repetition operator: `{character}`")
        return Take(self._folded(mask_of(character)))

    def _group(self, depth: int) -> Node | None:
        flags = (self._fold, self._dot_all, self._multi_line)
        if self._skip("?") and not self._group_opening():
            return None
        node = self.choice(depth + 1)
        if not self._skip(")"):
            raise BadPattern("missing closing )")
        self._fold, self._dot_all, self._multi_line = flags
        return node

    def _group_opening(self) -> bool:
        """What follows `(?`; False where it only sets flags for the rest."""
        if self._skip("P<") or (self._skip("<") and self._peek() not in "=!"):
            name, self.pos = self._until(">")
            if not (name.isidentifier() and name.isascii()):
                raise BadPattern(f"invalid named capture: `{name}`")
            return True
        on = True
        while self.pos < len(self.text):
            flag = self._next()
            if flag in ":)":
                return flag == ":"
            if flag == "-" and on:
                on = False
            elif flag == "i":
                self._fold = on
            elif flag == "s":
                self._dot_all = on
            elif flag == "m":
                self._multi_line = on
            elif flag != "U":
                break
        raise BadPattern("invalid or unsupported Perl syntax")

    def _repeated(self, item: Node) -> Node:
        while self.pos < len(self.text):
            character = self.text[self.pos]
            if character == "{":
                bounds = self._bounds()
                if bounds is None:  # an ordinary brace, which comes next
                    return item
                item = Repeat(item, *bounds)
            elif character in "*+?":
                self.pos += 1
                item = Repeat(item, int(character == "+"), 1 if character == "?" else None)
            else:
                return item
            self._skip("?")  # whether it prefers few or many makes no difference to a whole match
            if self._peek() in "*+?" and self.pos < len(self.text):
                raise BadPattern("invalid nested repetition operator")
        return item

    def _bounds(self) -> tuple[int, int | None] | None:
        end = self.text.find("}", self.pos)
        least, comma, most = self.text[self.pos + 1 : max(end, 0)].partition(",")
        numbers = [n for n in (least, most) if n]
        if end < 0 or not least or not all(n.isascii() and n.isdigit() for n in numbers):
            return None
        self.pos = end + 1
        low = int(least)
        high = int(most) if most else (None if comma else low)
        if low > _MAX_REPEAT or (high or 0) > _MAX_REPEAT or (high is not None and high < low):
            raise BadPattern(f"invalid repeat count: `{{{least}{comma}{most}}}`")
        return low, high

    def _escape(self) -> Node:
        character = self._next("trailing backslash at end of expression: ``")
        if character in "bB":
            return Check(character)
        if character in "Az":
            return Check("^" if character == "A" else "$")
        if character == "Q":
            quoted, self.pos = self._quoted()
            return Row(tuple(Take(self._folded(mask_of(c))) for c in quoted))
        if character == "E":
            return Row(())
        return Take(self._folded(self._escaped(character)))

    def _quoted(self) -> tuple[str, int]:
        end = self.text.find("\\E", self.pos)
        return (
            (self.text[self.pos :], len(self.text))
            if end < 0
            else (self.text[self.pos : end], end + 2)
        )

    def _escaped(self, character: str) -> Mask:
        if character in _ESCAPED_CLASSES:
            return _ESCAPED_CLASSES[character]
        if character in "pP":
            return self._unicode_class(inverted=character == "P")
        if character == "x":
            return self._hexadecimal()
        if character in _ESCAPED_CHARACTERS:
            return mask_of(_ESCAPED_CHARACTERS[character])
        if character.isalnum() and character.isascii():
            raise BadPattern(f"invalid escape sequence: `\\{character}`")
        return mask_of(character)

    def _hexadecimal(self) -> Mask:
        if self._skip("{"):
            digits, self.pos = self._until("}")
        else:
            digits = self.text[self.pos : self.pos + 2]
            self.pos += 2
        try:
            return mask_of(chr(int(digits, 16)))
        except (ValueError, OverflowError):
            raise BadPattern(f"invalid escape sequence: `\\x{digits}`") from None

    def _unicode_class(self, *, inverted: bool) -> Mask:
        if self._skip("{"):
            name, self.pos = self._until("}")
        else:
            name = self._next("invalid character class range")
        if name.startswith("^"):
            name, inverted = name[1:], not inverted
        if name not in _UNICODE_CLASSES:
            raise BadPattern(f"invalid character class range: `\\p{{{name}}}`")
        return _ALL & ~_UNICODE_CLASSES[name] if inverted else _UNICODE_CLASSES[name]

    def _class(self) -> Mask:
        inverted = self._skip("^")
        mask, first = 0, True
        while first or self._peek() != "]":
            first = False
            mask |= self._class_item()
        self.pos += 1
        return _ALL & ~mask if inverted else mask

    def _class_item(self) -> Mask:
        if self._skip("[:"):
            name, self.pos = self._until(":]")
            inverted = name.startswith("^")
            if name.lstrip("^") not in _NAMED_CLASSES:
                raise BadPattern(f"invalid character class range: `[:{name}:]`")
            mask = _NAMED_CLASSES[name.lstrip("^")]
            return _ALL & ~mask if inverted else mask
        first = self._class_character()
        is_range = self._peek() == "-" and self.text[self.pos + 1 : self.pos + 2] not in ("]", "")
        if not isinstance(first, str) or not is_range:
            return mask_of(first) if isinstance(first, str) else first
        self.pos += 1
        last = self._class_character()
        if not isinstance(last, str) or last < first:
            raise BadPattern("invalid character class range")
        return _span(first, last) if ord(first) < 128 else 0

    def _class_character(self) -> str | Mask:
        character = self._next("missing closing ]")
        if character != "\\":
            return character
        escaped = self._next("missing closing ]")
        mask = self._escaped(escaped)
        return chr(mask.bit_length() - 1) if mask.bit_count() == 1 else mask

    def _folded(self, mask: Mask) -> Mask:
        if not self._fold:
            return mask
        # Upper and lower case are 32 apart in ASCII.
        return mask | (mask & _UPPER) << 32 | (mask & _LOWER) >> 32

    def _peek(self) -> str:
        if self.pos >= len(self.text):
            return ""
        return self.text[self.pos]

    def _next(self, missing: str = "missing argument") -> str:
        if self.pos >= len(self.text):
            raise BadPattern(missing)
        self.pos += 1
        return self.text[self.pos - 1]

    def _skip(self, text: str) -> bool:
        found = self.text.startswith(text, self.pos)
        if found:
            self.pos += len(text)
        return found

    def _until(self, closing: str) -> tuple[str, int]:
        end = self.text.find(closing, self.pos)
        if end < 0:
            raise BadPattern(f"missing closing {closing}")
        return self.text[self.pos : end], end + len(closing)
