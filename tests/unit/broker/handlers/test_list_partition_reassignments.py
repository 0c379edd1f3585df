"""ListPartitionReassignments: nothing moves where there is one broker; see tests/cluster for what does."""

from ottla.protocol.apis.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client


def test_nothing_moves(client: Client) -> None:
    name = client.new_topic()
    named = [
        ListPartitionReassignmentsTopics(name=name, partition_indexes=[0, 4]),
        ListPartitionReassignmentsTopics(name="missing", partition_indexes=[0]),
    ]
    for topics in (None, named):
        answer = client.ask(ListPartitionReassignmentsRequest(topics=topics))
        assert (answer.error_code, answer.topics) == (ErrorCode.NONE, [])
