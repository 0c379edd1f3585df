"""BrokerHello (api 10000, v0; ottla's own): a broker of this cluster shows that it is one.

The secret stands in the metadata tree, which brokers alone can read.
"""

from __future__ import annotations

import hmac

from ottla.broker.context import RequestContext
from ottla.protocol.apis.broker_hello import BrokerHelloRequest, BrokerHelloResponse
from ottla.protocol.errors import ErrorCode


def handle(context: RequestContext, request: BrokerHelloRequest) -> BrokerHelloResponse:
    """From now on the connection may ask what brokers ask."""
    broker = context.broker
    membership = broker.membership
    if request.cluster_id != membership.cluster_id:
        return BrokerHelloResponse(
            error_code=ErrorCode.INCONSISTENT_CLUSTER_ID,
            error_message=f"this broker belongs to cluster {membership.cluster_id}",
        )
    if request.broker_id < 0 or not hmac.compare_digest(
        request.secret.encode(), membership.secret.encode()
    ):
        return BrokerHelloResponse(
            error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            error_message="the secret is not that of this cluster",
        )
    context.connection.peer = request.broker_id
    return BrokerHelloResponse(broker_id=broker.node_id, broker_epoch=membership.broker_epoch)
