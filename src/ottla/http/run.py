"""Runs the service: binds, says that it is ready, serves until it is told to stop, closes everything."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import Final

import uvicorn

from ottla.base.errors import OttlaError
from ottla.base.log import configure
from ottla.config.listeners import Address
from ottla.http.application import make_app
from ottla.http.server.logins import Logins
from ottla.http.settings import HttpSettings

_BACKLOG: Final = 2048
_STOP_S: Final = 5
_KEEP_ALIVE_S: Final = 75


def run(
    settings: HttpSettings, on_ready: Callable[[list[str]], None], *, with_parent: bool = False
) -> int:
    """Serve until SIGTERM or Ctrl-C, or the end of standard input; `on_ready` is given the addresses."""
    import uvloop

    configure(settings.log_format, settings.log_level)  # type: ignore[arg-type]  # one of both words
    uvloop.run(serve(settings, on_ready, with_parent=with_parent))
    return 0


async def serve(
    settings: HttpSettings, on_ready: Callable[[list[str]], None], *, with_parent: bool = False
) -> None:
    """The same within a loop."""
    refuse_open_doors(settings)
    sockets = [bind(each) for each in settings.listeners]
    app = make_app(settings)
    config = uvicorn.Config(
        app,
        http="h11",  # has limits of its own on lines and headers
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=settings.behind_proxy,
        forwarded_allow_ips="*" if settings.behind_proxy else None,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_STOP_S,
        limit_concurrency=settings.max_connections,
        backlog=_BACKLOG,
    )
    server = _Server(config, lambda: on_ready(list(map(url_of, settings.listeners, sockets))))
    app.services.start()
    if with_parent:
        threading.Thread(target=_wait_for_end, daemon=True).start()
    try:
        await server.serve(sockets)
    finally:
        await app.services.close()


class _Server(uvicorn.Server):
    """uvicorn's server, with a word when it is ready, and signals of our own."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        self._on_ready()

    def _stop(self) -> None:
        # Streams may go on for ever: whoever stops the service a second time means it.
        self.force_exit = self.should_exit
        self.should_exit = True


def _wait_for_end() -> None:
    """Stop when the process that started this one is no more."""
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


def refuse_open_doors(settings: HttpSettings) -> None:
    """Raise unless everybody may come in who can: no address but loopback without a word."""
    if settings.is_loopback:
        return
    shown = ", ".join(map(str, settings.listeners))
    if Logins(settings).needed:
        if not settings.behind_proxy:
            raise OttlaError(
                f"{shown} can be reached from other machines, and passwords would travel there in the clear: put a "
                "proxy with TLS in front of it and say ottla.http.behind.proxy=true, or listen on localhost"
            )
    elif not settings.anonymous:
        raise OttlaError(
            f"{shown} can be reached from other machines, and nobody has to log in: whoever reaches it may do "
            "everything. Listen on localhost, or say ottla.http.anonymous=true"
        )


def bind(address: Address) -> socket.socket:
    """A socket that listens there; OttlaError says why there can be none."""
    host = address.host or "0.0.0.0"
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind, protocol)
    except OSError as error:
        raise OttlaError(f"cannot listen on {address}: {error.strerror or error}") from None
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind(where)
    except OSError as error:
        made.close()
        raise OttlaError(
            f"cannot listen on {address}: {error.strerror}; --listen HOST:PORT takes another address"
        ) from None
    made.setblocking(False)
    return made


def url_of(address: Address, bound: socket.socket) -> str:
    """The address that a browser takes."""
    host, port = address.host, bound.getsockname()[1]
    if host in ("", "0.0.0.0", "::"):
        host = socket.gethostname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
