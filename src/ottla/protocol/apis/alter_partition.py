"""Pure: AlterPartition (api 56): a leader asks the controller for another ISR.

Versions: v3 broker epochs of the members (KIP-903).
"""

from __future__ import annotations

from uuid import UUID

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import (
    FIRST_OWN_TAG,
    Request,
    Response,
    Struct,
    array,
    int8,
    int16,
    int32,
    int64,
    nested,
    uuid,
)


class BrokerState(Struct):
    """An element of AlterPartitionRequest.topics.partitions.new_isr_with_epochs."""

    broker_id: int = int32()
    broker_epoch: int = int64(-1)


class LeftEnd(Struct):
    """ottla's own: where the leader's log ended when it knew the state it asks to change, and its last epoch."""

    last_epoch: int = int32(-1)
    end_offset: int = int64(-1)


class PartitionData(Struct):
    """An element of AlterPartitionRequest.topics.partitions."""

    partition_index: int = int32()
    leader_epoch: int = int32()
    new_isr: list[int] = array(int32, until=2)
    new_isr_with_epochs: list[BrokerState] = array(BrokerState, since=3)
    leader_recovery_state: int = int8()
    partition_epoch: int = int32()
    left_end: LeftEnd | None = nested(LeftEnd, tag=FIRST_OWN_TAG)


class TopicData(Struct):
    """An element of AlterPartitionRequest.topics."""

    topic_id: UUID = uuid()
    partitions: list[PartitionData] = array(PartitionData)


class AlterPartitionRequest(Request, key=ApiKey.ALTER_PARTITION):
    """Who asks, and the ISRs wanted."""

    broker_id: int = int32()
    broker_epoch: int = int64(-1)
    topics: list[TopicData] = array(TopicData)


class AlteredPartition(Struct):
    """An element of AlterPartitionResponse.topics.partitions."""

    partition_index: int = int32()
    error_code: int = int16()
    leader_id: int = int32()
    leader_epoch: int = int32()
    isr: list[int] = array(int32)
    leader_recovery_state: int = int8()
    partition_epoch: int = int32()


class AlteredTopic(Struct):
    """An element of AlterPartitionResponse.topics."""

    topic_id: UUID = uuid()
    partitions: list[AlteredPartition] = array(AlteredPartition)


class AlterPartitionResponse(Response, key=ApiKey.ALTER_PARTITION):
    """What became of each partition."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    topics: list[AlteredTopic] = array(AlteredTopic)
