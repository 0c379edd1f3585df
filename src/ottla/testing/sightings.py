"""Pure: what a broker saw last: requests, what became of them, and the errors in their answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import decode_response
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import Struct

_KEPT: Final = 500
_LARGEST_ANSWER_BYTES: Final = 2048
_LENGTH_BYTES: Final = 4


class Sighting(NamedTuple):
    """One request, or several of a kind in a row."""

    at_ms: int
    client_id: str
    api: str
    version: int
    outcome: str
    times: int = 1


class Sightings:
    """The last requests; those of a kind that follow each other are told as one."""

    def __init__(self) -> None:
        self._last: deque[tuple[int, str | None, ApiKey, int, str, bytes]] = deque(maxlen=_KEPT)

    def add(
        self,
        at_ms: int,
        client_id: str | None,
        key: ApiKey,
        version: int,
        outcome: str = "",
        answer: object = None,
    ) -> None:
        """A request was met; `answer` is the frame that it got, if it got one at once."""
        small = isinstance(answer, bytes | bytearray) and len(answer) <= _LARGEST_ANSWER_BYTES
        frame = bytes(answer) if small else b""  # type: ignore[call-overload]
        self._last.append((at_ms, client_id, key, version, outcome, frame))

    def since(self, at_ms: int) -> list[Sighting]:
        """What was seen at a moment and later."""
        told: list[Sighting] = []
        for when, client_id, key, version, outcome, frame in self._last:
            if when < at_ms:
                continue
            errors = ", ".join(sorted(set(_errors_in(key, version, frame))))
            one = Sighting(when, client_id or "", key.api_name, version, outcome or errors)
            if told and told[-1][1:5] == one[1:5]:
                told[-1] = told[-1]._replace(times=told[-1].times + 1)
            else:
                told.append(one)
        return told


def _errors_in(key: ApiKey, version: int, frame: bytes) -> Iterator[str]:
    if frame:
        _, response = decode_response(key, version, frame[_LENGTH_BYTES:])
        yield from _errors_of(response)


def _errors_of(struct: Struct) -> Iterator[str]:
    for field in struct.fields:
        value: Any = getattr(struct, field.name)
        if field.name.endswith("error_code"):
            if value:
                yield ErrorCode(value).name
        elif isinstance(value, Struct):
            yield from _errors_of(value)
        elif isinstance(value, list) and field.struct is not None:
            for item in value:
                yield from _errors_of(item)
