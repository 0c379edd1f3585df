"""A dispatcher that meets requests with the fault rules of a test, and remembers what it saw."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Final

from ottla.base.errors import ProtocolError
from ottla.base.log import logger
from ottla.broker.apis import Api
from ottla.broker.connection import Connection
from ottla.broker.context import Broker
from ottla.broker.dispatch import Dispatcher
from ottla.broker.reply import Buffers, CloseConnection, Pending, Reply
from ottla.broker.topic_views import nodes
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import decode_request, encode_response
from ottla.protocol.header import RequestHeader, parse_request_header
from ottla.testing.rules import DELAY, DROP, FAIL, FaultRule, FaultRules
from ottla.testing.sightings import Sightings

log = logger(__name__)

_A_RULE: Final = "a fault rule of a test"


class RuledDispatcher(Dispatcher):
    """Serves as any broker does, but for what the rules say; the brokers of a cluster are spared."""

    def __init__(
        self, broker: Broker, apis: Mapping[int, Api], rules: FaultRules, sightings: Sightings
    ) -> None:
        super().__init__(broker, apis)
        self._rules = rules
        self._sightings = sightings

    def dispatch(self, connection: Connection, frame: memoryview) -> Reply:
        """The reply to one request: as it would be, or as a rule has it."""
        header = parse_request_header(frame, 0, len(frame))
        api = self._apis.get(header.api_key)
        if api is None or not api.min_version <= header.version <= api.max_version:
            return super().dispatch(connection, frame)
        rule = None
        if connection.peer < 0:
            rule = self._rules.take(header.api_key, header.client_id)
        if rule is not None:
            log.warning("fault rule", rule=rule, api=api.name, client_id=header.client_id)
            self._saw(header, str(rule))
            return self._meet(rule, connection, header, frame)
        try:
            reply = super().dispatch(connection, frame)
        except (ProtocolError, CloseConnection) as why:
            self._saw(header, f"connection closed: {why}")
            raise
        self._saw(header, answer=reply.buffers if isinstance(reply, Pending) else reply)
        return reply

    def _commit_again(self, connection: Connection, frame: memoryview) -> Reply:
        """Each is carried out by itself: what becomes of its answer is a rule's affair, or seen at once."""
        return None

    def _saw(self, header: RequestHeader, outcome: str = "", answer: Buffers | None = None) -> None:
        key = ApiKey(header.api_key)
        now_ms = time.time_ns() // 1_000_000
        self._sightings.add(now_ms, header.client_id, key, header.version, outcome, answer)

    def _meet(
        self, rule: FaultRule, connection: Connection, header: RequestHeader, frame: memoryview
    ) -> Reply:
        if rule.action == DROP:
            raise CloseConnection(_A_RULE)
        if rule.action == FAIL:
            return self._refuse(rule, connection, header, frame)
        late = Pending(blocking=True)
        if rule.action == DELAY:
            copy = memoryview(bytes(frame))
            self._broker.tasks.spawn(self._wait(connection, copy, rule.delay_ms / 1000, late))
            return late
        reply = super().dispatch(connection, frame)
        if not isinstance(reply, Pending) or reply.done:
            raise CloseConnection(_A_RULE)
        # The answer is lost when there is one: until then the request goes on, and so does its connection.
        reply.attach(_HangUp(connection))
        late.on_cancel = reply.cancel
        return late

    def _refuse(
        self, rule: FaultRule, connection: Connection, header: RequestHeader, frame: memoryview
    ) -> Buffers:
        # Few tests have a rule, and the others do not wait for this.
        from ottla.protocol.apis.metadata import MetadataResponse, MetadataResponseBroker
        from ottla.protocol.apis.produce import ProduceRequest
        from ottla.testing.refusals import refuse

        key, version, correlation_id, _, pos = header
        request = decode_request(key, version, frame, pos, len(frame))
        if isinstance(request, ProduceRequest) and request.acks == 0:
            raise CloseConnection(_A_RULE)
        answer = refuse(request, version, rule.error)
        if isinstance(answer, MetadataResponse):
            image = self._broker.metadata.image
            answer.brokers = [
                MetadataResponseBroker(node_id=id, host=host, port=port, rack=rack)
                for id, host, port, rack in nodes(image, connection.listener)
            ]
        return encode_response(answer, version, correlation_id)

    async def _wait(
        self, connection: Connection, frame: memoryview, delay_s: float, late: Pending
    ) -> None:
        await asyncio.sleep(delay_s)
        if late.done:
            return
        try:
            reply = super().dispatch(connection, frame)
        except (ProtocolError, CloseConnection) as why:
            connection.refuse(why)
            return
        if isinstance(reply, Pending) and not reply.done:
            late.on_cancel = reply.cancel
            reply.attach(_Relay(late))
            if not reply.blocking:
                late.unblock()
        else:
            late.resolve(reply.buffers if isinstance(reply, Pending) else reply)


class _Relay:
    """Passes a reply on to the one that was promised in its place."""

    __slots__ = ("_to",)

    def __init__(self, to: Pending) -> None:
        self._to = to

    def resolved(self, pending: Pending) -> None:
        """It is there, or no longer holds up the requests behind it."""
        if pending.done:
            self._to.resolve(pending.buffers)
        else:
            self._to.unblock()


class _HangUp:
    """Hangs up where a reply was to be sent."""

    __slots__ = ("_connection",)

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def resolved(self, pending: Pending) -> None:
        """The request has had its effect."""
        if pending.done:
            self._connection.abort()
