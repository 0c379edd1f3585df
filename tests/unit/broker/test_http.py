"""/metrics and /health, asked in plain HTTP."""

import asyncio
import json
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from ottla.broker import apis, http

WELL = {"live": True, "ready": True, "node_id": 1, "offline_log_dirs": []}


def served(
    story: Callable[[tuple[str, int]], Coroutine[Any, Any, None]], health: dict[str, object]
) -> None:
    """Run a story against a listener."""

    async def run() -> None:
        bound = socket.create_server(("127.0.0.1", 0))
        [server] = await http.serve([bound], lambda: health)
        try:
            await story(server.sockets[0].getsockname())
        finally:
            server.close()

    asyncio.run(run())


async def ask(address: tuple[str, int], *pieces: bytes) -> tuple[int, dict[str, str], str]:
    """Send a request in pieces; the status, the headers and the body."""
    reader, writer = await asyncio.open_connection(*address)
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0)
    async with asyncio.timeout(5):
        head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    status, *lines = head.split("\r\n")
    return int(status.split()[1]), dict(line.split(": ", 1) for line in lines), body


def get(path: str, method: str = "GET") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: broker\r\n\r\n".encode()


def answer(*pieces: bytes, health: dict[str, object] | None = None):
    found = []

    async def story(address: tuple[str, int]) -> None:
        found.append(await ask(address, *pieces))

    served(story, health or WELL)
    return found[0]


def test_metrics_are_in_the_format_of_prometheus() -> None:
    status, headers, body = answer(get("/metrics?x=1"))
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert int(headers["Content-Length"]) == len(body.encode())
    assert apis.APIS, "whose rows are measured from the first one on"
    assert "# TYPE ottla_requests_total counter" in body
    assert 'ottla_requests_total{api="Produce"} ' in body
    assert "# HELP ottla_loop_stall_seconds " in body


@pytest.mark.parametrize("path", ["/health", "/health/live", "/health/ready"])
def test_a_broker_that_is_well_says_so(path: str) -> None:
    status, headers, body = answer(get(path))
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert json.loads(body) == WELL


def test_a_broker_that_is_not_ready_is_alive_all_the_same() -> None:
    unwell: dict[str, object] = {**WELL, "ready": False, "offline_log_dirs": ["/data"]}
    codes = [answer(get(f"/health{which}"), health=unwell)[0] for which in ("", "/ready", "/live")]
    assert codes == [503, 503, 200]


def test_a_request_may_come_in_pieces() -> None:
    request = get("/health")
    status, _, body = answer(*(request[n : n + 1] for n in range(len(request))))
    assert (status, json.loads(body)) == (200, WELL)


def test_only_the_head_is_sent_to_who_asks_for_that() -> None:
    status, headers, body = answer(get("/metrics", "HEAD"))
    assert (status, body) == (200, "")
    assert int(headers["Content-Length"]) > 1000


REFUSED = {
    "another page": (get("/"), 404),
    "a path that climbs": (get("/../etc/passwd"), 404),
    "another method": (get("/metrics", "POST"), 405),
    "no HTTP at all": (b"\0\0\0\x10\0\x12\0\0\r\n\r\n", 405),
    "a request without end": (b"GET /" + b"x" * 9000, 400),
}


@pytest.mark.parametrize(("request_", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_anything_else_is_refused(request_: bytes, code: int) -> None:
    status, _, body = answer(request_)
    assert status == code
    assert body.endswith("\n")
