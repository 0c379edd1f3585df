"""BrokerShutdown: only a broker that is registered can hand over what it leads."""

from collections.abc import Callable
from contextlib import closing

from ottla.protocol.apis.broker_shutdown import BrokerShutdownRequest
from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.unit.broker.handlers.brokers import introduced


def test_a_stranger_has_nothing_to_hand_over(own_broker: Callable[..., OttlaBroker]) -> None:
    with closing(introduced(own_broker())) as client:
        answer = client.ask(BrokerShutdownRequest(broker_id=2, broker_epoch=1))
    assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH
