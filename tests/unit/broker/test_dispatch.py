"""From a frame to a reply: what handlers give back, and what becomes of those that fail."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ottla.base.errors import ApiError, ClusterError, OffsetOutOfRange, ProtocolError, StorageError
from ottla.base.tasks import Tasks
from ottla.broker import metrics
from ottla.broker.apis import Api
from ottla.broker.connection import Connection
from ottla.broker.context import Broker, RequestContext
from ottla.broker.dispatch import Dispatcher
from ottla.broker.reply import CloseConnection, Pending, Reply
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.protocol.apis.create_topics import CreateTopicsRequest
from ottla.protocol.apis.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from ottla.protocol.apis.produce import ProduceRequest
from ottla.protocol.codec import decode_response, encode_request
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import Request
from tests.unit.broker.test_connection import Registry

VERSION = 1


class Asker:
    """A client of a dispatcher."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, request: Request, version: int = VERSION, number: int = 7) -> None:
        self.writer.write(encode_request(request, version, number, "test"))

    async def receive(self, key: ApiKey, version: int = VERSION) -> tuple[int, Any]:
        async with asyncio.timeout(5):
            size = int.from_bytes(await self.reader.readexactly(4), "big")
            return decode_response(key, version, await self.reader.readexactly(size))

    async def ask(self, request: Request, version: int = VERSION) -> Any:
        self.send(request, version)
        number, response = await self.receive(request.api_key, version)
        assert number == 7
        return response

    async def is_hung_up_on(self) -> bool:
        async with asyncio.timeout(5):
            try:
                return await self.reader.read() == b""
            except ConnectionResetError:
                return True


@asynccontextmanager
async def serving(*apis: Api) -> AsyncIterator[Asker]:
    """A client of a listener that serves these APIs and no others."""
    broker = cast(Broker, SimpleNamespace(tasks=Tasks()))
    dispatcher = Dispatcher(broker, {int(api.key): api for api in apis})
    shared = memoryview(bytearray(4096))

    def accept() -> Connection:
        return Connection(dispatcher.dispatch, Registry(), shared, 1 << 20, "PLAINTEXT")

    server = await asyncio.get_running_loop().create_server(accept, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        yield Asker(reader, writer)
    finally:
        writer.close()
        server.close()


def cluster_api(handle: Callable[..., Any]) -> Api:
    return Api(ApiKey.DESCRIBE_CLUSTER, (0, 2), handle)


def fails_at_once(failure: Exception) -> Callable[..., Any]:
    def handle(context: RequestContext, request: Request) -> Any:
        raise failure

    return handle


def fails_later(failure: Exception) -> Callable[..., Any]:
    async def handle(context: RequestContext, request: Request) -> Any:
        await asyncio.sleep(0)
        raise failure

    return handle


def test_a_handler_answers_at_once_or_later() -> None:
    async def later(context: RequestContext, request: Request) -> DescribeClusterResponse:
        await asyncio.sleep(0)
        return DescribeClusterResponse(cluster_id=f"{context.client_id} v{context.version}")

    def at_once(context: RequestContext, request: Request) -> DescribeClusterResponse:
        return DescribeClusterResponse(cluster_id=f"{context.client_id} v{context.version}")

    async def story() -> None:
        for handle in (at_once, later):
            async with serving(cluster_api(handle)) as asker:
                assert (await asker.ask(DescribeClusterRequest())).cluster_id == "test v1"

    asyncio.run(story())


def test_a_handler_that_answers_later_holds_up_what_comes_behind_it() -> None:
    order: list[str] = []
    may_go_on = asyncio.Event()

    async def handle(context: RequestContext, request: Request) -> DescribeClusterResponse:
        order.append(f"{context.correlation_id} begins")
        await may_go_on.wait()
        order.append(f"{context.correlation_id} ends")
        return DescribeClusterResponse()

    async def story() -> None:
        async with serving(cluster_api(handle)) as asker:
            for number in (1, 2):
                asker.send(DescribeClusterRequest(), number=number)
            while not order:
                await asyncio.sleep(0)
            may_go_on.set()
            for number in (1, 2):
                assert (await asker.receive(ApiKey.DESCRIBE_CLUSTER))[0] == number

    asyncio.run(story())
    assert order == ["1 begins", "1 ends", "2 begins", "2 ends"]


FORESEEN: Mapping[str, tuple[Exception, int]] = {
    "an error of the protocol": (
        ApiError(ErrorCode.POLICY_VIOLATION, "not so"),
        ErrorCode.POLICY_VIOLATION,
    ),
    "metadata out of reach": (ClusterError("gone"), ErrorCode.REQUEST_TIMED_OUT),
    "a disk that fails": (StorageError("broken"), ErrorCode.KAFKA_STORAGE_ERROR),
    "an offset": (OffsetOutOfRange("beyond"), ErrorCode.KAFKA_STORAGE_ERROR),
}


@pytest.mark.parametrize("fails", [fails_at_once, fails_later])
@pytest.mark.parametrize(("failure", "code"), FORESEEN.values(), ids=FORESEEN.keys())
def test_a_failure_that_was_foreseen_is_answered(
    fails: Callable[..., Any], failure: Exception, code: int
) -> None:
    async def story() -> None:
        async with serving(cluster_api(fails(failure))) as asker:
            for _ in range(2):
                answer = await asker.ask(DescribeClusterRequest())
                assert answer.error_code == code
                assert str(failure) in answer.error_message

    before = metrics.UNEXPECTED_FAILURES.value
    asyncio.run(story())
    assert metrics.UNEXPECTED_FAILURES.value == before


@pytest.mark.parametrize("fails", [fails_at_once, fails_later])
def test_where_a_response_has_no_room_for_an_error_the_client_is_hung_up_on(
    fails: Callable[..., Any],
) -> None:
    api = Api(ApiKey.CREATE_TOPICS, (2, 7), fails(ApiError(ErrorCode.POLICY_VIOLATION)))

    async def story() -> None:
        async with serving(api) as asker:
            asker.send(CreateTopicsRequest(), version=5)
            assert await asker.is_hung_up_on()

    before = metrics.UNEXPECTED_FAILURES.value
    asyncio.run(story())
    assert metrics.UNEXPECTED_FAILURES.value == before


@pytest.mark.parametrize("fails", [fails_at_once, fails_later])
def test_a_failure_nobody_foresaw_is_counted_and_ends_the_connection(
    fails: Callable[..., Any],
) -> None:
    async def story() -> None:
        async with serving(cluster_api(fails(KeyError("oops")))) as asker:
            asker.send(DescribeClusterRequest())
            assert await asker.is_hung_up_on()

    before = metrics.UNEXPECTED_FAILURES.value
    asyncio.run(story())
    assert metrics.UNEXPECTED_FAILURES.value == before + 1


@pytest.mark.parametrize("failure", [KeyError("oops"), CloseConnection("no answer")])
def test_what_a_raw_handler_leaves_to_be_finished_later_may_fail(failure: Exception) -> None:
    def handle(context: RequestContext, frame: memoryview, pos: int) -> Reply:
        async def finish() -> None:
            raise failure

        context.go_on(finish())
        return Pending(blocking=True)

    async def story() -> None:
        async with serving(Api(ApiKey.PRODUCE, (0, 13), handle, raw=True)) as asker:
            asker.send(ProduceRequest(), 9)
            assert await asker.is_hung_up_on()

    asyncio.run(story())


@pytest.mark.parametrize("failure", [ProtocolError("nonsense"), CloseConnection("enough")])
def test_a_client_that_breaks_the_protocol_is_hung_up_on(failure: Exception) -> None:
    async def story() -> None:
        async with serving(cluster_api(fails_at_once(failure))) as asker:
            asker.send(DescribeClusterRequest())
            assert await asker.is_hung_up_on()

    before = metrics.UNEXPECTED_FAILURES.value
    asyncio.run(story())
    assert metrics.UNEXPECTED_FAILURES.value == before


def test_apis_and_versions_that_are_not_served_close_the_connection() -> None:
    api = Api(ApiKey.DESCRIBE_CLUSTER, (0, 0), fails_at_once(AssertionError("not called")))

    async def story() -> None:
        for request, version in ((CreateTopicsRequest(), 5), (DescribeClusterRequest(), 1)):
            async with serving(api) as asker:
                asker.send(request, version)
                assert await asker.is_hung_up_on()

    asyncio.run(story())


def test_api_versions_of_the_future_are_told_what_is_served() -> None:
    def handle(context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
        raise AssertionError("not called")

    async def story() -> None:
        async with serving(Api(ApiKey.API_VERSIONS, (0, 3), handle)) as asker:
            asker.send(ApiVersionsRequest(), 4)
            _, answer = await asker.receive(ApiKey.API_VERSIONS, 0)
            assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
            [row] = answer.api_keys
            assert (row.api_key, row.max_version) == (ApiKey.API_VERSIONS, 3)

    asyncio.run(story())
