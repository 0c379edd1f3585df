"""BrokerHello: who does not know the cluster's secret is no broker."""

import pytest

from ottla.protocol.apis.alter_partition import AlterPartitionRequest
from ottla.protocol.apis.broker_hello import BrokerHelloRequest
from ottla.protocol.apis.broker_shutdown import BrokerShutdownRequest
from ottla.protocol.apis.describe_cluster import DescribeClusterRequest
from ottla.protocol.apis.fetch import FetchRequest, ReplicaState
from ottla.protocol.apis.replica_ends import ReplicaEndsRequest
from ottla.protocol.errors import ErrorCode
from ottla.protocol.schema import Request
from tests.unit.broker.handlers.asking import Client


def test_a_guess_is_refused(client: Client) -> None:
    cluster_id = client.ask(DescribeClusterRequest()).cluster_id
    answer = client.ask(BrokerHelloRequest(cluster_id=cluster_id, broker_id=2, secret="guess"))
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_a_broker_of_another_cluster_is_refused(client: Client) -> None:
    answer = client.ask(BrokerHelloRequest(cluster_id="other", broker_id=2, secret="guess"))
    assert answer.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID


@pytest.mark.parametrize(
    "request_of_brokers",
    [
        AlterPartitionRequest(broker_id=0),
        BrokerShutdownRequest(broker_id=0),
        ReplicaEndsRequest(),
        FetchRequest(replica_state=ReplicaState(replica_id=2)),
    ],
    ids=["AlterPartition", "BrokerShutdown", "ReplicaEnds", "a follower's Fetch"],
)
def test_strangers_may_not_ask_what_brokers_ask(
    client: Client, request_of_brokers: Request
) -> None:
    with pytest.raises((EOFError, ConnectionError)):
        client.ask(request_of_brokers)


def test_a_refused_guess_opens_nothing(client: Client) -> None:
    cluster_id = client.ask(DescribeClusterRequest()).cluster_id
    client.ask(BrokerHelloRequest(cluster_id=cluster_id, broker_id=2, secret=""))
    with pytest.raises((EOFError, ConnectionError)):
        client.ask(BrokerShutdownRequest(broker_id=0))
