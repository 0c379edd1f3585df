"""AlterPartitionReassignments: what a single broker refuses; moves are tested in tests/cluster."""

import pytest

from ottla.protocol.apis.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client


@pytest.mark.parametrize("version", [0, 1])
def test_each_partition_gets_its_answer(client: Client, version: int) -> None:
    name = client.new_topic()
    partitions = [
        ReassignablePartition(partition_index=0, replicas=[1, 77]),
        ReassignablePartition(partition_index=0, replicas=None),
        ReassignablePartition(partition_index=5, replicas=[1]),
    ]
    topic = ReassignableTopic(name=name, partitions=partitions)
    answer = client.ask(AlterPartitionReassignmentsRequest(topics=[topic]), version)
    assert answer.error_code == ErrorCode.NONE
    assert [each.error_code for each in answer.responses[0].partitions] == [
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
