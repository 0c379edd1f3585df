"""From a frame to a reply: read the header, check the version, call the API's handler, encode what it says."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from time import perf_counter
from typing import Any, TypeAlias

from ottla.base.errors import ProtocolError
from ottla.base.log import logger
from ottla.broker import metrics
from ottla.broker.apis import Api
from ottla.broker.connection import Connection
from ottla.broker.context import Broker, RequestContext
from ottla.broker.handlers import api_versions
from ottla.broker.reply import Buffers, CloseConnection, Pending, Reply
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import decode_request, encode_response
from ottla.protocol.header import parse_request_header

log = logger(__name__)

_Running: TypeAlias = Coroutine[Any, Any, Any]


class Dispatcher:
    """Hands the frames of all connections to the handlers of the API table."""

    def __init__(self, broker: Broker, apis: Mapping[int, Api]) -> None:
        self._broker = broker
        self._apis = apis

    def dispatch(self, connection: Connection, frame: memoryview) -> Reply:
        """The reply to one request, or a pending one."""
        began = perf_counter()
        key, version, correlation_id, client_id, pos = parse_request_header(frame, 0, len(frame))
        api = self._apis.get(key)
        if api is None:
            raise CloseConnection(f"API key {key} is not served")
        connection.last_active = began
        api.requests.value += 1
        if not api.min_version <= version <= api.max_version:
            return self._refuse_version(api, version, correlation_id)
        context = RequestContext(self._broker, connection, version, correlation_id, client_id)
        try:
            reply: Reply
            if api.raw:
                reply = api.handle(context, frame, pos)
            else:
                request = decode_request(api.key, version, frame, pos, len(frame))
                answer = api.handle(context, request)
                if isinstance(answer, Coroutine):
                    return self._start(api, context, answer)
                if isinstance(answer, Pending):
                    return answer
                reply = encode_response(answer, version, correlation_id)
        except (ProtocolError, CloseConnection):
            raise
        except Exception as failure:
            raise _unexpected(api, context, failure) from failure
        api.duration.observe(perf_counter() - began)
        return reply

    def _refuse_version(self, api: Api, version: int, correlation_id: int) -> Buffers:
        if api.key == ApiKey.API_VERSIONS:
            # KIP-511: a client from the future is told what is served, in a form every client can read.
            return encode_response(api_versions.unsupported_version(self._apis), 0, correlation_id)
        raise CloseConnection(
            f"{api.name} v{version} is not served; this broker speaks v{api.min_version} to v{api.max_version}"
        )

    def _start(self, api: Api, context: RequestContext, running: _Running) -> Pending:
        pending = Pending(blocking=True)
        self._broker.tasks.spawn(self._finish(api, context, running, pending))
        return pending

    async def _finish(
        self, api: Api, context: RequestContext, running: _Running, pending: Pending
    ) -> None:
        began = perf_counter()
        try:
            answer = await running
            buffers = encode_response(answer, context.version, context.correlation_id)
        except Exception as failure:
            _unexpected(api, context, failure)
            context.connection.abort()
            return
        api.duration.observe(perf_counter() - began)
        pending.resolve(buffers)


def _unexpected(api: Api, context: RequestContext, failure: Exception) -> CloseConnection:
    """Log a failure nobody foresaw, once; the client sees a closed connection and may try again."""
    metrics.UNEXPECTED_FAILURES.value += 1
    log.exception("request failed", api=api.name, version=context.version, client=context.client_id)
    return CloseConnection(f"{api.name} v{context.version} failed: {type(failure).__name__}")
