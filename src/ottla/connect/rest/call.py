"""One request: its worker, its path, its body."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from starlette.requests import Request

from ottla.connect.rest.errors import RestError, not_found
from ottla.connect.worker.view import Known
from ottla.connect.worker.worker import Worker

MOST_BYTES: Final = 1 << 20


class Call:
    """What a handler gets."""

    def __init__(self, request: Request, worker: Worker) -> None:
        self.request = request
        self.worker = worker

    @property
    def name(self) -> str:
        """The connector of the path."""
        return str(self.request.path_params["connector"])

    @property
    def known(self) -> Known:
        """What is known of the connector of the path; 404 if there is none."""
        found = self.worker.view.get(self.name)
        if found is None:
            raise not_found(self.name)
        return found

    def flag(self, name: str) -> bool:
        """Return a parameter of the query that is true or false."""
        return self.request.query_params.get(name, "false").lower() == "true"

    async def body(self) -> Any:
        """Return the body; 400 if it is no JSON, 413 if it is too long."""
        received = bytearray()
        async for chunk in self.request.stream():
            received += chunk
            if len(received) > MOST_BYTES:
                raise RestError(413, f"the body of the request is longer than {MOST_BYTES} bytes")
        try:
            return msgspec.json.decode(bytes(received))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as flaw:
            raise RestError(400, f"the body of the request is no JSON: {flaw}") from None

    async def settings(self) -> dict[str, str | None]:
        """Return the body as a configuration: texts by name, null to remove."""
        return as_settings(await self.body())


def as_settings(given: Any) -> dict[str, str | None]:
    """Return JSON as a configuration; numbers and booleans become text, as Kafka Connect reads them."""
    if not isinstance(given, dict):
        raise RestError(400, "a configuration is a JSON object of names and texts")
    found: dict[str, str | None] = {}
    for name, value in given.items():
        if isinstance(value, dict | list):
            raise RestError(400, f"the value of {name} is a text, not {type(value).__name__}")
        if value is None or isinstance(value, str):
            found[name] = value
        else:
            found[name] = ("true" if value else "false") if isinstance(value, bool) else str(value)
    return found
