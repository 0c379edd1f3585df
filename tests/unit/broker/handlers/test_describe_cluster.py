"""DescribeCluster: the brokers and what a client may do with them."""

import pytest

from ottla.protocol.apis.describe_cluster import DescribeClusterRequest
from ottla.protocol.apis.metadata import MetadataRequest
from ottla.protocol.errors import ErrorCode
from tests.unit.broker.handlers.asking import Client

NOT_ASKED = -(2**31)


@pytest.mark.parametrize("version", range(3))
def test_the_cluster_is_told_as_metadata_tells_it(client: Client, version: int) -> None:
    metadata = client.ask(MetadataRequest(topics=[]))
    answer = client.ask(DescribeClusterRequest(), version)
    assert (answer.error_code, answer.cluster_id) == (ErrorCode.NONE, metadata.cluster_id)
    assert answer.controller_id == metadata.controller_id
    assert answer.cluster_authorized_operations == NOT_ASKED
    [broker], [known] = answer.brokers, metadata.brokers
    assert (broker.broker_id, broker.host, broker.port) == (known.node_id, known.host, known.port)
    assert (broker.rack, broker.is_fenced) == (known.rack, False)


def test_operations_are_told_when_asked_for(client: Client) -> None:
    answer = client.ask(DescribeClusterRequest(include_cluster_authorized_operations=True))
    assert answer.cluster_authorized_operations == 0b1_1111_1010_0000


@pytest.mark.parametrize(
    ("endpoint_type", "error"),
    [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (9, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)],
)
def test_a_broker_lists_no_other_endpoints(client: Client, endpoint_type: int, error: int) -> None:
    answer = client.ask(DescribeClusterRequest(endpoint_type=endpoint_type))
    assert answer.error_code == error
    assert answer.brokers == []
