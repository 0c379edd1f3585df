"""Pure: BrokerHello (api 10000, ottla's own): a broker introduces itself to another.

What brokers alone may ask is answered only on connections that began with it.
"""

from __future__ import annotations

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Request, Response, int16, int32, int64, string


class BrokerHelloRequest(Request, key=ApiKey.BROKER_HELLO):
    """Who calls, of which cluster, and the secret that only its brokers know."""

    cluster_id: str = string()
    broker_id: int = int32()
    broker_epoch: int = int64(-1)
    secret: str = string()


class BrokerHelloResponse(Response, key=ApiKey.BROKER_HELLO):
    """Whether the caller is taken for a broker, and who answers."""

    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    broker_id: int = int32(-1)
    broker_epoch: int = int64(-1)
