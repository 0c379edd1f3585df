"""AlterPartition: the controller answers leaders; what it decides is tested with `controller/isr.py`."""

from collections.abc import Callable
from contextlib import closing
from uuid import UUID

import pytest

from ottla.protocol.apis.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.unit.broker.handlers.brokers import introduced


@pytest.mark.parametrize("version", [2, 3])
def test_a_broker_that_is_not_registered_is_refused(
    own_broker: Callable[..., OttlaBroker], version: int
) -> None:
    wanted = PartitionData(
        partition_index=0, new_isr=[2], new_isr_with_epochs=[BrokerState(broker_id=2)]
    )
    topic = TopicData(topic_id=UUID(int=5), partitions=[wanted])
    with closing(introduced(own_broker())) as client:
        request = AlterPartitionRequest(broker_id=2, broker_epoch=1, topics=[topic])
        answer = client.ask(request, version)
    assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH
