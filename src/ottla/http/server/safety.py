"""Pure: which requests a browser may have been tricked into, and the headers that keep pages in their place."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Final

from ottla.http.server.errors import HttpError

SAFE_METHODS: Final = frozenset(("GET", "HEAD", "OPTIONS"))
_ALWAYS: Final = frozenset(("localhost",))
HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class Guard:
    """Refuses requests that name another host, or come from another site."""

    def __init__(self, hosts: tuple[str, ...], origins: tuple[str, ...]) -> None:
        self._hosts = _ALWAYS | {each.lower() for each in hosts}
        self._origins = frozenset(each.rstrip("/").lower() for each in origins)

    def check(self, method: str, path: str, headers: Mapping[str, str], scheme: str) -> None:
        """Raise HttpError unless the request may be served."""
        host = headers.get("host", "")
        if not self.knows(host):
            raise HttpError(
                421 if host else 400,
                f"this service is not {host[:200] or 'named'}; ottla.http.allowed.hosts names other hosts",
            )
        origin = headers.get("origin")
        if origin is not None:
            self._check_origin(method, origin, f"{scheme}://{host}")
        elif headers.get("sec-fetch-site") == "cross-site" and not _is_navigation(method, headers):
            raise HttpError(403, "a page of another site may not ask this", code=403)

    def knows(self, host: str) -> bool:
        """Whether a Host header means this service: an address cannot be another site's name."""
        name = host.lower()
        if name.startswith("["):
            name = name[1:].partition("]")[0]
        else:
            name = name.partition(":")[0]
        if name in self._hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def allows(self, origin: str | None) -> bool:
        """Whether pages of this origin may read answers (CORS)."""
        return origin is not None and origin.rstrip("/").lower() in self._origins

    def _check_origin(self, method: str, origin: str, own: str) -> None:
        if origin.lower() == own.lower() or self.allows(origin):
            return
        if method in SAFE_METHODS:
            return  # without a CORS header the browser keeps the answer from the page
        raise HttpError(
            403,
            f"pages of {origin[:200]} may not change anything here; ottla.http.allowed.origins lets them",
            code=403,
        )


def _is_navigation(method: str, headers: Mapping[str, str]) -> bool:
    return method == "GET" and headers.get("sec-fetch-mode") == "navigate"
