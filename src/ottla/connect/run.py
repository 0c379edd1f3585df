"""Runs a worker: binds, reads its topics, serves, and stops everything when it is told to."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import uvicorn

from ottla.base.errors import OttlaError
from ottla.base.log import configure
from ottla.connect.errors import ConfigInvalid
from ottla.connect.rest.app import make_app
from ottla.connect.spark.queries import Queries
from ottla.connect.worker.settings import WORKER
from ottla.connect.worker.worker import Worker

_STOP_S: Final = 5
_LOOPBACK: Final = frozenset(("localhost", "127.0.0.1", "::1"))
_CLIENT: Final = ("security.protocol", "sasl.", "ssl.", "client.id")


def run_worker(
    given: Mapping[str, str], client: Mapping[str, str], on_ready: Callable[[str], None]
) -> int:
    """Run until SIGTERM or Ctrl-C; `on_ready` is given the address."""
    import uvloop

    configure()
    uvloop.run(_serve(given, client, on_ready))
    return 0


async def _serve(
    given: Mapping[str, str], client: Mapping[str, str], on_ready: Callable[[str], None]
) -> None:
    settings = _settings(given)
    host, bound = _bind(settings)
    port = bound.getsockname()[1]
    shared = {n: value for n, value in given.items() if n.startswith(_CLIENT)}
    clients = {"bootstrap.servers": settings["bootstrap.servers"], **shared, **client}
    queries = Queries(clients, settings["spark.master"], settings["offset.flush.interval.ms"])
    worker = Worker(settings, clients, queries, f"{host}:{port}")
    await worker.start()
    app = make_app(worker, _LOOPBACK | {host} if host in _LOOPBACK else None)
    config = uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_STOP_S,
    )
    shown = f"[{host}]" if ":" in host else host
    server = _Server(config, lambda: on_ready(f"http://{shown}:{port}"))
    try:
        await server.serve([bound])
    finally:
        await worker.stop()


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
        self.should_exit = True


def _settings(given: Mapping[str, str]) -> dict[str, Any]:
    try:
        parsed = WORKER.parse(given)
    except ConfigInvalid as wrong:
        raise OttlaError(str(wrong)) from None
    # What belongs to converters stands under their names, and has no row.
    converters = {
        n: v for n, v in given.items() if n.startswith(("key.converter.", "value.converter."))
    }
    return {**parsed, **converters}


def _bind(settings: Mapping[str, Any]) -> tuple[str, socket.socket]:
    """Return the host of the listener and a socket for it; refuse doors that stand open by mistake."""
    [listener, *more] = settings["listeners"]
    where = urlsplit(listener if "//" in listener else f"http://{listener}")
    if more or where.scheme != "http":
        raise OttlaError(
            f"listeners={','.join(settings['listeners'])}: one listener, of http, is served;"
            " put a proxy in front for https"
        )
    host, port = where.hostname or "0.0.0.0", 8083 if where.port is None else where.port
    if host not in _LOOPBACK and not settings["anonymous"]:
        raise OttlaError(
            f"{host}:{port} can be reached from other machines, and nobody has to log in: whoever reaches it may do"
            " everything. Listen on localhost, or say anonymous=true"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise OttlaError(f"cannot listen on {host}:{port}: {error.strerror}") from None
    return host, bound
