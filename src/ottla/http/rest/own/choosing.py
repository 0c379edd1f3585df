"""Which records a request wants: by key, and by a filter in the command line's language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from ottla.client.consumer_record import ConsumerRecord
from ottla.http.rest.own.filter_process import FilterProcess
from ottla.http.server.errors import HttpError
from ottla.inspection.filters import FilterError, compiled, has_patterns

_LONGEST_FILTER: Final = 4000


class Choice(Protocol):
    """Says of records which ones are wanted."""

    async def flags(self, records: Sequence[ConsumerRecord]) -> Sequence[bool | int]:
        """One for each record."""

    async def close(self) -> None:
        """No more records come."""


class _Here:
    """A test that takes no longer than its text is long."""

    def __init__(self, test: Callable[[Any], bool]) -> None:
        self._test = test

    async def flags(self, records: Sequence[ConsumerRecord]) -> Sequence[bool]:
        return [self._test(each) for each in records]

    async def close(self) -> None:
        pass


def chosen_records(key: str | None, text: str | None) -> Choice | None:
    """What says which records are wanted; None means all. HttpError points at what is not understood."""
    wanted_key = None if key is None else key.encode("utf-8", "surrogateescape")
    test = None if text is None else compiled_filter(text)
    if test is None or text is None:
        return None if wanted_key is None else _Here(lambda record: bool(record.key == wanted_key))
    if has_patterns(text):
        return FilterProcess(text, wanted_key)
    if wanted_key is None:
        return _Here(test)
    return _Here(lambda record: record.key == wanted_key and test(record))


def compiled_filter(text: str) -> Callable[[Any], bool]:
    """The filter; HttpError with `column` and `why` if it has a flaw."""
    if len(text) > _LONGEST_FILTER:
        raise HttpError(422, f"a filter has at most {_LONGEST_FILTER} characters", code=422)
    try:
        return compiled(text)
    except FilterError as flaw:
        why = f"filter, column {flaw.column + 1}: {flaw.why}"
        raise HttpError(422, why, code=422, column=flaw.column, why=flaw.why, filter=text) from None
