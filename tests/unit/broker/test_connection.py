"""One connection over a real socket: order, blocking, and what happens to frames cut in pieces."""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from ottla.broker import connection
from ottla.broker.connection import Connection
from ottla.broker.reply import HELD, Pending, Reply

Handler = Callable[[bytes], Reply]


class Registry:
    """Counts connections."""

    def __init__(self) -> None:
        self.open: set[Connection] = set()

    def opened(self, connection: Connection) -> bool:
        self.open.add(connection)
        return True

    def closed(self, connection: Connection) -> None:
        self.open.discard(connection)

    def flush_soon(self, connection: Connection) -> bool:
        asyncio.get_running_loop().call_soon(connection.flush)
        return True


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


@asynccontextmanager
async def connected(
    handler: Handler, limit: int = 1 << 20
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter, Registry]]:
    registry = Registry()
    shared = memoryview(bytearray(4096))

    def accept() -> Connection:
        return Connection(
            lambda _, view: handler(bytes(view)), registry, shared, limit, "PLAINTEXT"
        )

    server = await asyncio.get_running_loop().create_server(accept, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        yield reader, writer, registry
    finally:
        writer.close()
        server.close()


async def replies(reader: asyncio.StreamReader, count: int) -> list[bytes]:
    async with asyncio.timeout(5):
        return [await reader.readexactly(3) for _ in range(count)]


def test_replies_leave_in_the_order_of_the_requests() -> None:
    waiting: dict[bytes, Pending] = {}

    def handler(body: bytes) -> Reply:
        if body.startswith(b"w"):
            return waiting.setdefault(body, Pending(blocking=False))
        return body

    async def story() -> None:
        async with connected(handler) as (reader, writer, _):
            writer.write(frame(b"w01") + frame(b"now") + frame(b"w02"))
            while len(waiting) < 2:
                await asyncio.sleep(0)
            waiting[b"w02"].resolve(b"two")
            waiting[b"w01"].resolve(b"one")
            assert await replies(reader, 3) == [b"one", b"now", b"two"]

    asyncio.run(story())


def test_nothing_starts_behind_a_request_that_has_not_taken_effect() -> None:
    seen: list[bytes] = []
    first = Pending(blocking=True)

    def handler(body: bytes) -> Reply:
        seen.append(body)
        return first if body == b"one" else body

    async def story() -> None:
        async with connected(handler) as (reader, writer, _):
            writer.write(frame(b"one") + frame(b"two") + frame(b"thr")[:5])
            while not seen:
                await asyncio.sleep(0)
            writer.write(frame(b"thr")[5:])
            await writer.drain()
            assert seen == [b"one"]
            first.unblock()
            assert seen == [b"one", b"two"]
            first.resolve(b"ONE")
            assert await replies(reader, 3) == [b"ONE", b"two", b"thr"]

    asyncio.run(story())


@pytest.mark.parametrize("before", [None, "waits", "done"])
def test_a_request_that_is_held_keeps_its_place_and_those_behind_it_wait(
    before: str | None,
) -> None:
    seen: list[bytes] = []
    first = Pending(blocking=False)

    def handler(body: bytes) -> Reply:
        seen.append(body)
        return {b"one": first, b"two": HELD}.get(body, body)

    async def story() -> None:
        async with connected(handler) as (reader, writer, registry):
            begun = [b"one", b"two"] if before else [b"two"]
            writer.write(b"".join(frame(body) for body in (*begun, b"thr", b"fou")))
            while seen != begun:
                await asyncio.sleep(0)
            [held] = registry.open
            if before == "done":
                first.resolve(b"ONE")
                assert seen == begun, "the second is not done"
            held.answer(bytearray(b"TWO"))
            assert seen == [*begun, b"thr", b"fou"]
            first.resolve(b"ONE")
            expected = [b"TWO", b"thr", b"fou"]
            if before:
                expected = [b"ONE", *expected]
            assert await replies(reader, len(expected)) == expected

    asyncio.run(story())


def test_what_was_held_may_have_to_wait_after_all() -> None:
    async def story() -> None:
        async with connected(lambda body: HELD if body == b"one" else body) as (
            reader,
            writer,
            registry,
        ):
            writer.write(frame(b"one") + frame(b"two"))
            while not (registry.open and next(iter(registry.open))._blocked):
                await asyncio.sleep(0)
            [held], late = registry.open, Pending(blocking=False)
            held.answer(late)
            late.resolve(b"ONE")
            assert await replies(reader, 2) == [b"ONE", b"two"]

    asyncio.run(story())


def test_frames_larger_than_the_shared_buffer_and_cut_anywhere_arrive_whole() -> None:
    sizes: list[int] = []

    def handler(body: bytes) -> Reply:
        sizes.append(len(body))
        assert body == bytes(len(body))
        return b"%03d" % len(sizes)

    async def story() -> None:
        async with connected(handler) as (reader, writer, _):
            wanted = [10, 100_000, 0, 4092, 4096, 500_000, 1]
            sent = b"".join(frame(bytes(size)) for size in wanted)
            for start in range(0, len(sent), 7919):
                writer.write(sent[start : start + 7919])
                await writer.drain()
            assert len(await replies(reader, len(wanted))) == len(wanted)
            assert sizes == wanted

    asyncio.run(story())


def test_a_frame_over_the_limit_closes_the_connection() -> None:
    async def story() -> None:
        async with connected(lambda body: body, limit=100) as (reader, writer, registry):
            writer.write(frame(b"yes") + struct.pack(">i", 101))
            assert await replies(reader, 1) == [b"yes"]
            async with asyncio.timeout(5):
                assert await reader.read() == b""
            assert not registry.open

    asyncio.run(story())


def test_a_client_that_leaves_cancels_what_waits_for_it() -> None:
    cancelled = asyncio.Event()
    pending = Pending(blocking=False, on_cancel=cancelled.set)

    async def story() -> None:
        async with connected(lambda _: pending) as (_, writer, registry):
            writer.write(frame(b"one"))
            while not registry.open:
                await asyncio.sleep(0)
            await writer.drain()
            writer.close()
            async with asyncio.timeout(5):
                await cancelled.wait()

    asyncio.run(story())


def test_a_client_that_does_not_read_is_not_served_more_than_fits() -> None:
    handled = 0

    def handler(body: bytes) -> Reply:
        nonlocal handled
        handled += 1
        return bytes(1 << 20)

    async def story() -> None:
        async with connected(handler) as (reader, writer, _):
            for _ in range(64):
                writer.write(frame(b"give me a megabyte"))
            for _ in range(1000):
                await asyncio.sleep(0)
            assert handled < 64
            async with asyncio.timeout(10):
                await reader.readexactly(64 << 20)
            assert handled == 64

    asyncio.run(story())


FETCH = b"\0\1"
"""How the body of a Fetch begins."""


@pytest.mark.parametrize("padding", [0, 10_000])
def test_a_fetch_starts_when_the_replies_before_it_are_out(padding: int) -> None:
    # Else its records would wait in memory for as long as the long poll in front of it does.
    seen: list[bytes] = []
    waiting: dict[bytes, Pending] = {}

    def handler(body: bytes) -> Reply:
        seen.append(body[:3])
        if body.startswith(b"w"):
            return waiting.setdefault(body, Pending(blocking=False))
        return [body[:3]] if body.startswith(FETCH) else body

    async def story() -> None:
        async with connected(handler) as (reader, writer, _):
            for body in (b"w01", b"one", FETCH + b"1" + bytes(padding), b"two", b"w02", b"w03"):
                writer.write(frame(body))
            while len(seen) < 2:
                await asyncio.sleep(0)
            for _ in range(100):
                await asyncio.sleep(0)
            assert seen == [b"w01", b"one"]
            waiting[b"w01"].resolve([b"ONE"])
            assert await replies(reader, 4) == [b"ONE", b"one", FETCH + b"1", b"two"]
            writer.write(frame(FETCH + b"2") + frame(FETCH + b"3"))
            while b"w03" not in waiting:
                await asyncio.sleep(0)
            waiting[b"w03"].resolve(b"333")
            for _ in range(100):
                await asyncio.sleep(0)
            assert FETCH + b"2" not in seen
            waiting[b"w02"].resolve(b"222")
            assert await replies(reader, 4) == [b"222", b"333", FETCH + b"2", FETCH + b"3"]

    asyncio.run(story())


def test_a_thousand_outstanding_replies_are_enough() -> None:
    waiting: list[Pending] = []

    def handler(body: bytes) -> Reply:
        waiting.append(Pending(blocking=False))
        return waiting[-1]

    async def story() -> None:
        async with connected(handler) as (reader, writer, _):
            writer.write(frame(b"ask") * 1200)
            while len(waiting) < 1000:
                await asyncio.sleep(0)
            for _ in range(100):
                await asyncio.sleep(0)
            assert len(waiting) == 1000
            for n in range(1200):
                while n == len(waiting):
                    await asyncio.sleep(0)
                waiting[n].resolve(b"%03d" % (n % 1000))
            assert await replies(reader, 1200) == [b"%03d" % (n % 1000) for n in range(1200)]

    asyncio.run(story())


@pytest.mark.interpreted
def test_who_is_hung_up_on_and_never_reads_is_let_go_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "_LINGER_SECONDS", 0.1)

    async def story() -> None:
        async with connected(lambda body: bytes(50 << 20)) as (_, writer, registry):
            writer.write(frame(b"much"))
            async with asyncio.timeout(5):
                while not any(each._write_paused for each in registry.open):
                    await asyncio.sleep(0)
                [silent] = registry.open
                assert silent.expire()
                assert not silent.expire()
                while registry.open:
                    await asyncio.sleep(0.01)

    asyncio.run(story())
