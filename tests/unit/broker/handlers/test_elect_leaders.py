"""ElectLeaders: one broker alone has nobody to elect; more are tested in tests/cluster."""

import pytest

from ottla.protocol.apis.elect_leaders import ElectLeadersRequest, TopicPartitions
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client


@pytest.mark.parametrize("version", [0, 1, 2])
def test_an_election_that_is_not_needed(client: Client, version: int) -> None:
    topic = client.new_topic()
    wanted = [TopicPartitions(topic=topic, partitions=[0, 9])]
    answer = client.ask(ElectLeadersRequest(topic_partitions=wanted), version)
    [found] = answer.replica_election_results
    assert [(each.partition_id, each.error_code) for each in found.partition_result] == [
        (0, ErrorCode.ELECTION_NOT_NEEDED),
        (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


def test_all_partitions_are_told_only_where_something_changed(client: Client) -> None:
    client.new_topic()
    answer = client.ask(ElectLeadersRequest(topic_partitions=None))
    assert (answer.error_code, answer.replica_election_results) == (ErrorCode.NONE, [])


def test_an_unknown_kind_of_election(client: Client) -> None:
    answer = client.ask(ElectLeadersRequest(election_type=7, topic_partitions=None))
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    named = [TopicPartitions(topic=client.new_topic(), partitions=[0])]
    answer = client.ask(ElectLeadersRequest(election_type=7, topic_partitions=named))
    [found] = answer.replica_election_results
    assert [answer.error_code, found.partition_result[0].error_code] == [
        ErrorCode.INVALID_REQUEST
    ] * 2
