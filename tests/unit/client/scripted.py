"""A broker that answers what a test wrote down, in the test's own event loop."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.api_versions import ApiVersion, ApiVersionsResponse
from ottla.protocol.apis.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from ottla.protocol.codec import decode_request, encode_response
from ottla.protocol.errors import ErrorCode
from ottla.protocol.header import parse_request_header
from ottla.protocol.schema import Response

T = TypeVar("T")
TIMEOUT_S = 10
Answer = Callable[[Any, int], Response | None]


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, but not for ever."""
    return asyncio.run(asyncio.wait_for(work, TIMEOUT_S))


class ListeningServer:
    """Something on a free port; it ends with the block, and its connections with it."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.host = host
        self.port = 0
        self.accepted = 0
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, self.host, self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.drop_connections()
        await self._server.wait_closed()

    def drop_connections(self) -> None:
        """Close every connection, as a broker that restarts would."""
        for writer in self._writers:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self._writers.add(writer)
        try:
            await self.talk(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """What happens on a connection."""
        raise NotImplementedError


class Saying(ListeningServer):
    """Waits for a few bytes, answers with some of its own, and then says nothing more."""

    def __init__(self, answer: bytes, *, then_close: bool = False) -> None:
        super().__init__()
        self.answer = answer
        self.then_close = then_close

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(4)
        writer.write(self.answer)
        while not self.then_close and await reader.read(1000):
            pass


class ScriptedBroker(ListeningServer):
    """Answers ApiVersions by itself and the rest by functions of the request and its version.

    A function that returns None leaves its request without an answer.
    """

    def __init__(
        self,
        answers: Mapping[ApiKey, Answer] | None = None,
        *,
        node_id: int = 1,
        api_versions_up_to: int = 4,
        told_in_refusal: bool = True,
        host: str = "127.0.0.1",
    ) -> None:
        super().__init__(host)
        self.answers: dict[ApiKey, Answer] = dict(answers or {})
        self.node_id = node_id
        self.api_versions_up_to = api_versions_up_to
        self.told_in_refusal = told_in_refusal
        self.received: list[tuple[ApiKey, int, Any]] = []

    @property
    def bootstrap(self) -> str:
        """Its address, as clients take it."""
        return f"127.0.0.1:{self.port}"

    def count(self, key: ApiKey) -> int:
        """How often an API was asked for."""
        return sum(1 for each, _, _ in self.received if each is key)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            frame = await reader.readexactly(size)
            header = parse_request_header(frame, 0, len(frame))
            key, version = ApiKey(header.api_key), header.version
            if key is ApiKey.API_VERSIONS:
                writer.write(self._versions(version, header.correlation_id))
                continue
            request = decode_request(key, version, frame, header.body_pos, len(frame))
            self.received.append((key, version, request))
            response = self.answers[key](request, version)
            if response is not None:
                writer.write(encode_response(response, version, header.correlation_id))

    def _versions(self, version: int, correlation_id: int) -> bytes:
        refused = version > self.api_versions_up_to
        served = [
            ApiVersion(api_key=key, min_version=key.first_version, max_version=key.last_version)
            for key in self.answers
        ]
        own = ApiVersion(api_key=18, min_version=0, max_version=self.api_versions_up_to)
        rows = [own] if self.told_in_refusal else []
        response = ApiVersionsResponse(
            error_code=ErrorCode.UNSUPPORTED_VERSION if refused else 0,
            api_keys=rows if refused else [own, *served],
        )
        return bytes(encode_response(response, 0 if refused else version, correlation_id))


def metadata(
    brokers: Mapping[int, ScriptedBroker],
    *,
    controller: int = 1,
    leaders: Mapping[str, list[int]] | None = None,
) -> Answer:
    """Metadata that names scripted brokers, and topics by the leaders of their partitions."""

    def answer(request: MetadataRequest, version: int) -> MetadataResponse:
        known = leaders or {}
        wanted = list(known) if request.topics is None else [t.name for t in request.topics]
        return MetadataResponse(
            brokers=[
                MetadataResponseBroker(node_id=node, host="127.0.0.1", port=broker.port)
                for node, broker in brokers.items()
            ],
            controller_id=controller,
            cluster_id="scripted",
            topics=[_topic(name or "", known.get(name or "")) for name in wanted],
        )

    return answer


def _topic(name: str, leaders: list[int] | None) -> MetadataResponseTopic:
    if leaders is None:
        return MetadataResponseTopic(name=name, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    partitions = [
        MetadataResponsePartition(partition_index=n, leader_id=leader, replica_nodes=[leader])
        for n, leader in enumerate(leaders)
    ]
    return MetadataResponseTopic(name=name, partitions=partitions)
