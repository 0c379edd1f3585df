"""Pure: the language of --where: which records a person wants to see.

    value.amount > 100 and not (key = 'test' or headers.source contains "replay")

A record has `topic`, `partition`, `offset`, `timestamp`, `key`, `value` and `headers`. What comes after a dot or
in brackets is looked up in the JSON of a key or value, or among the headers; what is not there is null. Operators are
= != < <= > >=, `contains` (a part of a text, or an element of a list) and `matches` (a regular expression). A text that
reads as a number compares with numbers as one; a timestamp compares with times such as '2026-01-31T12:00'.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, TypeAlias

from ottla.base.errors import OttlaError
from ottla.inspection.filter_terms import (
    Record,
    Subject,
    contains,
    equal,
    finds,
    ordered,
    plain,
    truth,
    walk,
)

Test: TypeAlias = Callable[["Subject"], bool]
Term: TypeAlias = Callable[["Subject"], Any]

FIELDS: Final = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
_DEEPEST: Final = 50
_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))
    | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<operator>==|!=|<=|>=|=|<|>)
    | (?P<mark>[()\[\].])
    | (?P<word>[^\W\d][\w-]*)
    )""",
    re.VERBOSE,
)
_ORDERINGS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_EQUALITIES: Final = ("=", "==", "!=")
_WORD_OPERATORS: Final = ("contains", "matches")
_CONSTANTS: Final = {"true": True, "false": False, "null": None}


class FilterError(OttlaError):
    """A filter that cannot be understood; points at the place."""

    def __init__(self, text: str, column: int, why: str) -> None:
        super().__init__(text, column, why)
        self.text, self.column, self.why = text, column, why

    def __str__(self) -> str:
        return f"{self.why}, in column {self.column + 1}:\n  {self.text}\n  {' ' * self.column}^"


def compiled(text: str) -> Callable[[Record], bool]:
    """A function that says which records a filter wants; FilterError points at what it does not understand."""
    test = _Parser(text).whole()
    return lambda record: test(Subject(record))


def has_patterns(text: str) -> bool:
    """Whether a filter has regular expressions, which may take for ever: Python's engine backtracks."""
    return any(token[:2] == ("word", "matches") for token in _tokens(text))


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


class _Operand(NamedTuple):
    term: Term
    path: str
    constant: Any
    column: int


class _Parser:
    """Recursive descent: or, and, not, comparison, operand."""

    def __init__(self, text: str) -> None:
        self._source = text
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def whole(self) -> Test:
        """The filter, and nothing behind it."""
        test = self._either()
        if self._peek().kind != "end":
            raise self._wrong(f"there is no use for {self._peek().text} here")
        return test

    def _either(self) -> Test:
        tests = [self._both()]
        while self._take("word", "or"):
            tests.append(self._both())
        return tests[0] if len(tests) == 1 else lambda subject: any(t(subject) for t in tests)

    def _both(self) -> Test:
        tests = [self._one()]
        while self._take("word", "and"):
            tests.append(self._one())
        return tests[0] if len(tests) == 1 else lambda subject: all(t(subject) for t in tests)

    def _one(self) -> Test:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._wrong(f"this is nested more than {_DEEPEST} deep")
        try:
            if self._take("word", "not"):
                test = self._one()
                return lambda subject: not test(subject)
            if self._take("mark", "("):
                test = self._either()
                if not self._take("mark", ")"):
                    raise self._wrong("a ) is missing")
                return test
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> Test:
        left = self._operand()
        token = self._peek()
        if token.kind == "operator" or (token.kind == "word" and token.text in _WORD_OPERATORS):
            self._at += 1
            right = self._operand()
            return self._test(token, left, right)
        if token.kind == "word" and token.text not in ("and", "or"):
            raise self._wrong(
                f"{token.text} is no operator (there are = != < <= > >= contains matches)"
            )
        if not left.path:
            raise self._wrong("an operator is missing, such as = or >")
        term = left.term
        return lambda subject: truth(term(subject))

    def _test(self, sign: _Token, left: _Operand, right: _Operand) -> Test:
        if sign.text == "matches":
            return self._matches(left, right)
        one, other = self._as_times(left, right), self._as_times(right, left)
        if sign.text == "contains":
            return lambda subject: contains(one(subject), other(subject))
        if sign.text in _EQUALITIES:
            wanted = sign.text != "!="
            return lambda subject: equal(one(subject), other(subject)) is wanted
        compare = _ORDERINGS[sign.text]
        return lambda subject: ordered(compare, one(subject), other(subject))

    def _matches(self, left: _Operand, right: _Operand) -> Test:
        if not isinstance(right.constant, str):
            raise FilterError(
                self._source, right.column, "a regular expression in quotes is expected"
            )
        try:
            pattern = re.compile(right.constant)
        except (re.error, OverflowError, RecursionError) as flaw:
            raise FilterError(
                self._source, right.column, f"this is no regular expression ({flaw})"
            ) from None
        term = left.term
        return lambda subject: finds(pattern, term(subject))

    def _as_times(self, operand: _Operand, other: _Operand) -> Term:
        """A text that is compared with a timestamp is a time."""
        if other.path != "timestamp" or not isinstance(operand.constant, str):
            return operand.term
        try:
            found = datetime.fromisoformat(operand.constant)
            zoned = found if found.tzinfo else found.replace(tzinfo=UTC)
            moment = round(zoned.timestamp() * 1000)
        except (ValueError, OverflowError):
            raise FilterError(
                self._source, operand.column, "a time is expected, such as '2026-01-31T12:00'"
            ) from None
        return lambda subject: moment

    def _operand(self) -> _Operand:
        token = self._peek()
        if token.kind == "number":
            self._at += 1
            number = _number(token.text)
            return _Operand(lambda subject: number, "", number, token.column)
        if token.kind == "text":
            self._at += 1
            text = _unquoted(token.text)
            return _Operand(lambda subject: text, "", text, token.column)
        if token.kind == "word" and token.text in _CONSTANTS:
            self._at += 1
            constant = _CONSTANTS[token.text]
            return _Operand(lambda subject: constant, "", constant, token.column)
        if token.kind == "word" and token.text in FIELDS:
            return self._field()
        if token.kind == "word":
            raise self._wrong(
                f"there is no {token.text} (a record has {', '.join(FIELDS)}; texts are in quotes)"
            )
        raise self._wrong("a field, a number or a text in quotes is expected")

    def _field(self) -> _Operand:
        token = self._next()
        steps = self._steps()
        field = token.text
        if not steps:
            if field == "headers":
                raise self._wrong("the name of a header is missing, such as headers.source")
            return _Operand(plain(field), field, None, token.column)
        if field == "headers":
            if len(steps) > 1:
                raise self._wrong("a header is a text: there is nothing inside of it")
            name = str(steps[0])
            return _Operand(lambda subject: subject.header(name), "headers.", None, token.column)
        if field not in ("key", "value"):
            raise FilterError(self._source, token.column, f"there is nothing inside of {field}")
        return _Operand(
            lambda subject: walk(subject.json(field), steps), f"{field}.", None, token.column
        )

    def _steps(self) -> list[str | int]:
        steps: list[str | int] = []
        while True:
            if self._take("mark", "."):
                if self._peek().kind not in ("word", "text"):
                    raise self._wrong("a name is expected after the dot")
                token = self._next()
                steps.append(_unquoted(token.text) if token.kind == "text" else token.text)
            elif self._take("mark", "["):
                steps.append(self._index())
            else:
                return steps

    def _index(self) -> str | int:
        token = self._peek()
        if token.kind == "text":
            step: str | int = _unquoted(token.text)
        elif token.kind == "number" and re.fullmatch(r"-?\d{1,9}", token.text):
            step = int(token.text)
        else:
            raise self._wrong("a whole number or a name in quotes is expected in brackets")
        self._at += 1
        if not self._take("mark", "]"):
            raise self._wrong("a ] is missing")
        return step

    def _peek(self) -> _Token:
        return self._tokens[self._at]

    def _next(self) -> _Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _take(self, kind: str, text: str) -> bool:
        found = self._peek()[:2] == (kind, text)
        self._at += found
        return found

    def _wrong(self, why: str) -> FilterError:
        return FilterError(self._source, self._peek().column, why)


def _tokens(text: str) -> list[_Token]:
    found, at = [], 0
    while text[at:].strip():
        token = _TOKEN.match(text, at)
        if token is None or token.lastgroup is None:
            column = at + len(text[at:]) - len(text[at:].lstrip())
            quote = text[column] in "'\""
            why = "this text has no closing quote" if quote else f"{text[column]!r} means nothing"
            raise FilterError(text, column, why)
        kind = token.lastgroup
        found.append(_Token(kind, token[kind], token.start(kind)))
        at = token.end()
    return [*found, _Token("end", "", len(text))]


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)


def _number(text: str) -> int | float:
    # A text of thousands of digits is too much for int().
    return int(text) if len(text) < 20 and not set(text) & set(".eE") else float(text)
