"""Pure: what filters look at in records, and how they compare it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Protocol


class Record(Protocol):
    """What a filter looks at."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> tuple[tuple[str, bytes | None], ...]: ...


class Subject:
    """A record under test; its JSON is read when a filter first needs it."""

    __slots__ = ("_json", "record")

    def __init__(self, record: Record) -> None:
        self.record = record
        self._json: dict[str, Any] = {}

    def json(self, field: str) -> Any:
        """The key or value as JSON; null if it is none."""
        if field not in self._json:
            try:
                self._json[field] = json.loads(getattr(self.record, field))
            except (ValueError, TypeError, RecursionError):
                self._json[field] = None
        return self._json[field]

    def header(self, name: str) -> str | None:
        """The last header of this name."""
        for key, value in reversed(self.record.headers):
            if key == name:
                return text_of(value)
        return None


def plain(field: str) -> Callable[[Subject], Any]:
    """A field of a record; keys and values as text."""
    if field in ("key", "value"):
        return lambda subject: text_of(getattr(subject.record, field))
    return lambda subject: getattr(subject.record, field)


def text_of(data: bytes | None) -> str | None:
    """Bytes as text."""
    return None if data is None else data.decode("utf-8", "replace")


def walk(found: Any, steps: list[str | int]) -> Any:
    """What lies at the end of a path; null where it leads nowhere."""
    for step in steps:
        if isinstance(found, dict):
            found = found.get(str(step))
        elif isinstance(found, list) and isinstance(step, int) and -len(found) <= step < len(found):
            found = found[step]
        else:
            return None
    return found


def truth(value: Any) -> bool:
    """Whether a value by itself counts as true."""
    return value is not None and value is not False


def _number(value: Any) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    if isinstance(value, str) and len(value) <= 40:
        try:
            return float(value)
        except ValueError:
            return None
    return None


def equal(left: Any, right: Any) -> bool:
    """Whether two values are the same; a text may read as a number."""
    if isinstance(left, int | float) is not isinstance(right, int | float):
        one, other = _number(left), _number(right)
        return one is not None and other is not None and one == other
    if isinstance(left, bool) is not isinstance(right, bool):
        return False
    return bool(left == right)


def ordered(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    """Compare numbers with numbers and texts with texts; anything else has no order."""
    if isinstance(left, str) and isinstance(right, str):
        return compare(left, right)
    one, other = _number(left), _number(right)
    return one is not None and other is not None and compare(one, other)


def contains(container: Any, part: Any) -> bool:
    """Whether a text has this part, a list this element, an object this name."""
    if isinstance(container, str):
        return part is not None and _plain_text(part) in container
    if isinstance(container, list):
        return any(equal(each, part) for each in container)
    if isinstance(container, dict):
        return part in container if isinstance(part, str) else False
    return False


def finds(pattern: re.Pattern[str], value: Any) -> bool:
    """Whether a pattern is found in a value as text."""
    return value is not None and pattern.search(_plain_text(value)) is not None


def _plain_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
