"""Pure: BrokerShutdown (api 10001, ottla's own): a broker that is about to stop hands over what it leads."""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, int16, int32, int64


class BrokerShutdownRequest(Request, key=ApiKey.BROKER_SHUTDOWN):
    """Who wants to stop, in which of its lives."""

    broker_id: int = int32()
    broker_epoch: int = int64(-1)


class BrokerShutdownResponse(Response, key=ApiKey.BROKER_SHUTDOWN):
    """How many partitions it still leads; those have no other replica in sync."""

    error_code: int = int16()
    remaining: int = int32()
