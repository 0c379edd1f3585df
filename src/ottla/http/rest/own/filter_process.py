"""A filter with regular expressions, in a process of its own: one that takes for ever is killed, and nobody else waits.

Python's regular expressions backtrack, hold the interpreter while they do, and cannot be interrupted by a thread.
"""

from __future__ import annotations

import asyncio
import struct
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from typing import Final

import msgspec

from ottla.client.consumer_record import ConsumerRecord
from ottla.http.server.errors import HttpError

LENGTH: Final = struct.Struct(">I")
_WITHIN_S: Final = 3.0
_START_S: Final = 10.0
_MOST_PROCESSES: Final = 4
_running = 0


class FilterProcess:
    """Asks a child about records, batch by batch."""

    def __init__(self, text: str, key: bytes | None) -> None:
        self._text = text
        self._key = key
        self._process: Process | None = None

    async def flags(self, records: Sequence[ConsumerRecord]) -> Sequence[int]:
        """One for each record; HttpError if the filter takes too long."""
        within_s = _WITHIN_S
        if self._process is None:
            within_s = _START_S
            self._process = await self._start()
        batch = [
            (
                each.topic,
                each.partition,
                each.offset,
                each.timestamp,
                each.key,
                each.value,
                each.headers,
            )
            for each in records
        ]
        try:
            async with asyncio.timeout(within_s):
                return await self._asked(self._process, msgspec.msgpack.encode(batch))
        except TimeoutError:
            why = f"it took more than {within_s:g} s for {len(records)} records"
        except (asyncio.IncompleteReadError, ConnectionError):
            why = "its process ended"
        await self.close()
        raise HttpError(
            422, f"filter: {why}; simplify the regular expression, or read fewer records", code=422
        )

    async def _start(self) -> Process:
        global _running
        if _running >= _MOST_PROCESSES:
            raise HttpError(
                429,
                "too many filters with regular expressions run at once",
                headers={"retry-after": "5"},
            )
        _running += 1
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "ottla.http.rest.own.filter_worker", stdin=PIPE, stdout=PIPE
        )
        assert process.stdin is not None
        process.stdin.write(framed(msgspec.msgpack.encode((self._text, self._key))))
        return process

    async def _asked(self, process: Process, batch: bytes) -> bytes:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(framed(batch))
        await process.stdin.drain()
        [size] = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))
        return await process.stdout.readexactly(size)

    async def close(self) -> None:
        """End the child."""
        global _running
        process, self._process = self._process, None
        if process is not None:
            _running -= 1
            if process.returncode is None:
                process.kill()
            await process.wait()


def framed(data: bytes) -> bytes:
    """Bytes behind their length."""
    return LENGTH.pack(len(data)) + data
