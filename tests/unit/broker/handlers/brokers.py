"""A client that passes for a broker: it knows the secret, which stands in the broker's own tree."""

import sqlite3
from contextlib import closing

from ottla.cluster.znodes import CLUSTER_SECRET
from ottla.protocol.apis.broker_hello import BrokerHelloRequest
from ottla.protocol.apis.describe_cluster import DescribeClusterRequest
from ottla.protocol.errors import ErrorCode
from tests.support.broker import OttlaBroker
from tests.unit.broker.handlers.asking import Client


def secret_of(broker: OttlaBroker) -> str:
    """What the brokers of its cluster show one another."""
    # As a context a connection only ends its transaction. Python 3.13 warns of one that is left open, in the middle of
    # whichever test the garbage collector runs in.
    with closing(
        sqlite3.connect(f"file:{broker.data_dir}/metadata.sqlite?mode=ro", uri=True)
    ) as tree:
        [[data]] = tree.execute("select data from nodes where path = ?", (CLUSTER_SECRET,))
    return bytes(data).decode()


def introduced(broker: OttlaBroker, broker_id: int = 2) -> Client:
    """A connection that the broker takes for another broker's."""
    client = Client(broker.bootstrap)
    cluster_id = client.ask(DescribeClusterRequest()).cluster_id
    hello = BrokerHelloRequest(
        cluster_id=cluster_id, broker_id=broker_id, broker_epoch=1, secret=secret_of(broker)
    )
    answer = client.ask(hello)
    assert (answer.error_code, answer.broker_id) == (ErrorCode.NONE, broker.broker_id)
    return client
