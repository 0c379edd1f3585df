"""Large regions of files to real sockets: slow readers, replies behind them, clients that vanish."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path

import pytest
import uvloop

from ottla.broker.reply import Reply
from ottla.storage.fs import FileRegion
from tests.unit.broker.test_connection import connected, frame

SIZE = 24 * 1024 * 1024
CONTENT = os.urandom(1024 * 1024) * (SIZE // (1024 * 1024))

Story = Callable[[FileRegion], Coroutine[None, None, None]]


def open_files_and_sockets() -> set[str]:
    """What the descriptors of this process name, but for what an event loop keeps for itself."""
    names = []
    for fd in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            names.append(os.readlink(f"/proc/self/fd/{fd}"))
    return {name for name in names if name.endswith(".log") or name.startswith("socket:")}


@pytest.fixture(params=["asyncio", "uvloop"])
def tell(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Story], None]:
    """Runs a story with a region of a file; it must leave no descriptor behind."""
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(CONTENT)
    factory = uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop

    def run(story: Story) -> None:
        before = open_files_and_sockets()
        fd = os.open(path, os.O_RDWR)
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(story(FileRegion(fd, SIZE, 0)))
        os.close(fd)
        # Clients of other tests may close some of theirs meanwhile.
        assert not open_files_and_sockets() - before

    return run


def test_a_reply_larger_than_the_socket_takes_arrives_whole(tell: Callable[[Story], None]) -> None:
    async def story(region: FileRegion) -> None:
        async with connected(lambda _: [b"head", region, b"tail"]) as (reader, writer, _):
            writer.write(frame(b"fetch"))
            async with asyncio.timeout(20):
                assert await reader.readexactly(SIZE + 8) == b"head" + CONTENT + b"tail"

    tell(story)


def test_replies_behind_it_keep_their_turn(tell: Callable[[Story], None]) -> None:
    asked: list[bytes] = []

    async def story(region: FileRegion) -> None:
        def handler(body: bytes) -> Reply:
            asked.append(body)
            return [b"<", region, b">"] if body == b"fetch" else body

        async with connected(handler) as (reader, writer, _):
            writer.write(frame(b"fetch") + frame(b"one") + frame(b"two"))
            async with asyncio.timeout(20):
                assert await reader.readexactly(1) == b"<"
                assert asked == [b"fetch"], "a request was begun before the reply was out"
                await reader.readexactly(SIZE)
                assert await reader.readexactly(7) == b">onetwo"

    tell(story)


def test_a_client_that_vanishes_leaves_nothing(tell: Callable[[Story], None]) -> None:
    async def story(region: FileRegion) -> None:
        async with connected(lambda _: [region]) as (reader, writer, registry):
            writer.write(frame(b"fetch"))
            async with asyncio.timeout(20):
                await reader.readexactly(1)
                writer.transport.abort()
                while registry.open:
                    await asyncio.sleep(0.001)

    tell(story)


def test_a_file_that_shrank_ends_the_connection(tell: Callable[[Story], None]) -> None:
    """Rather that than bytes that are none of the reply, or a client that waits for ever."""

    async def story(region: FileRegion) -> None:
        async with connected(lambda _: [region]) as (reader, writer, _):
            writer.write(frame(b"fetch"))
            async with asyncio.timeout(20):
                await reader.readexactly(1)
                os.ftruncate(region._fd, SIZE // 2)
                with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                    await reader.readexactly(SIZE - 1)

    tell(story)
