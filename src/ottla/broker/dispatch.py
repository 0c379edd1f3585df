"""From a frame to a reply: read the header, check the version, call the API's handler, encode what it says."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from time import perf_counter
from typing import Any, Final, TypeAlias

from ottla.base.errors import ApiError, ClusterError, ProtocolError, StorageError
from ottla.base.units import KiB
from ottla.broker import by_controller
from ottla.broker.apis import Api
from ottla.broker.connection import Connection
from ottla.broker.context import Broker, RequestContext
from ottla.broker.errors import told
from ottla.broker.handlers import api_versions
from ottla.broker.reply import Buffers, CloseConnection, Pending, Reply
from ottla.client.errors import ClientError
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import decode_request, encode_response, response_class
from ottla.protocol.header import parse_request_header
from ottla.protocol.schema import Request

FORESEEN = (ApiError, ClientError, ClusterError, StorageError)
Foreseen: TypeAlias = ApiError | ClientError | ClusterError | StorageError
_KEY_BYTES: Final = 2
_OFFSET_COMMIT: Final = int(ApiKey.OFFSET_COMMIT)
# Requests up to this size are not looked at twice.
_SMALL_BYTES: Final = 64 * KiB
_Running: TypeAlias = Coroutine[Any, Any, Any]


class Dispatcher:
    """Hands the frames of all connections to the handlers of the API table."""

    def __init__(self, broker: Broker, apis: Mapping[int, Api]) -> None:
        self._broker = broker
        self._apis = apis

    def dispatch(self, connection: Connection, frame: memoryview) -> Reply:
        """The reply to one request, or a pending one."""
        if len(frame) > _KEY_BYTES and frame[1] == _OFFSET_COMMIT:
            again = self._commit_again(connection, frame)
            if again is not None:
                return again
        began = perf_counter()
        key, version, correlation_id, client_id, pos = parse_request_header(frame, 0, len(frame))
        api = self._apis.get(key)
        if api is None:
            raise CloseConnection(f"API key {key} is not served")
        connection.last_active = began
        api.requests.value += 1
        if not api.min_version <= version <= api.max_version:
            return self._refuse_version(api, version, correlation_id)
        if (api.between_brokers or len(frame) > _SMALL_BYTES) and connection.peer < 0:
            self._check_client(api, len(frame))
        context = RequestContext(self._broker, connection, version, correlation_id, client_id)
        try:
            reply: Reply
            if api.raw:
                reply = api.handle(context, frame, pos)
            else:
                # By number: the hash of an enum's member, by which decoders are found, is a Python function.
                request = decode_request(key, version, frame, pos, len(frame))
                answer = _ask(api, context, request)
                if isinstance(answer, Pending):
                    return answer
                if isinstance(answer, Coroutine):
                    return self._start(api, context, answer)
                reply = encode_response(answer, version, correlation_id)
        except (ProtocolError, CloseConnection):
            raise
        except FORESEEN as failure:
            reply = _told(api, context, failure)
        except Exception as failure:
            context.log_failure()
            raise _failed(api, context, failure) from failure
        api.duration.observe(perf_counter() - began)
        return reply

    def _check_client(self, api: Api, size_bytes: int) -> None:
        """Refuse what only brokers may ask, and what would hold up all others while it is read."""
        if api.between_brokers:
            raise CloseConnection(f"{api.name} is for brokers of this cluster alone")
        limit = self._broker.settings.now.server.request_max_bytes
        if (
            size_bytes > limit and api.key != ApiKey.PRODUCE
        ):  # records are not gone through one by one
            raise CloseConnection(
                f"{api.name} of {size_bytes} bytes; ottla.request.max.bytes allows {limit}: name fewer things at a time"
            )

    def _commit_again(self, connection: Connection, frame: memoryview) -> Reply:
        """The reply to a commit that came before with another offset; None to anything else."""
        return self._broker.commits.take(connection, frame)

    def _refuse_version(self, api: Api, version: int, correlation_id: int) -> Buffers:
        if api.key == ApiKey.API_VERSIONS:
            # KIP-511: a client from the future is told what is served, in a form every client can read.
            return encode_response(api_versions.unsupported_version(self._apis), 0, correlation_id)
        raise CloseConnection(
            f"{api.name} v{version} is not served; this broker speaks v{api.min_version} to v{api.max_version}"
        )

    def _start(self, api: Api, context: RequestContext, running: _Running) -> Pending:
        pending = Pending(blocking=True)
        context.go_on(self._finish(api, context, running, pending))
        return pending

    async def _finish(
        self, api: Api, context: RequestContext, running: _Running, pending: Pending
    ) -> None:
        began = perf_counter()
        try:
            answer = await running
            buffers = encode_response(answer, context.version, context.correlation_id)
        except FORESEEN as failure:
            buffers = _told(api, context, failure)
        api.duration.observe(perf_counter() - began)
        pending.resolve(buffers)


def _ask(api: Api, context: RequestContext, request: Request) -> Any:
    if api.by_controller and context.connection.peer < 0:
        return by_controller.answer(api, context, request)
    # A broker that asks us takes us for the controller, and is told if we are not.
    return api.handle(context, request)


def _told(api: Api, context: RequestContext, failure: Foreseen) -> bytearray:
    """The response that says what the handler could not do, where there is room for that at the top of it."""
    kind = response_class(api.key)
    fields = {field.name for field in kind.fields if field.exists(context.version)}
    if "error_code" not in fields:
        raise _failed(api, context, failure) from failure
    code, message = told(failure)
    response: Any = kind()
    response.error_code = code
    if "error_message" in fields:
        response.error_message = message
    return encode_response(response, context.version, context.correlation_id)


def _failed(api: Api, context: RequestContext, failure: Exception) -> CloseConnection:
    return CloseConnection(
        f"{api.name} v{context.version} failed: {type(failure).__name__}: {failure}"
    )
