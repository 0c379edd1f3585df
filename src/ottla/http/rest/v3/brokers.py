"""The brokers of a cluster, and the replicas that they hold."""

from __future__ import annotations

from typing import Any, Final

from ottla.client.administration.brokers import BrokerDescription
from ottla.http.rest.v3.declare import CLUSTER, route
from ottla.http.rest.v3.links import Links, Related, Resource, links_of, list_of
from ottla.http.rest.v3.partitions import ReplicaData, replica_data
from ottla.http.server.call import Call
from ottla.http.server.errors import HttpError


class BrokerData(Resource, kw_only=True):
    """A broker."""

    cluster_id: str
    broker_id: int
    host: str | None
    port: int | None
    rack: str | None
    configs: Related
    partition_replicas: Related


async def list_brokers(call: Call) -> Any:
    """Return all brokers."""
    links = await links_of(call)
    found = await (await call.admin()).describe_cluster()
    return links.listed(
        "KafkaBrokerList", [_broker(links, each) for each in found.brokers], "brokers"
    )


async def get_broker(call: Call) -> BrokerData:
    """Return one broker."""
    links = await links_of(call)
    return _broker(links, await find_broker(call))


async def find_broker(call: Call) -> BrokerDescription:
    """The broker of the path."""
    number = call.number("broker_id")
    found = await (await call.admin()).describe_cluster()
    for each in found.brokers:
        if each.id == number:
            return each
    raise HttpError(404, f"there is no broker {number} at present", code=404)


async def list_replicas(call: Call) -> Any:
    """Return the replicas that a broker holds."""
    links = await links_of(call)
    broker = await find_broker(call)
    topics = await (await call.admin()).list_topics()
    data = [
        replica_data(links, topic.name, partition, broker.id)
        for topic in topics.values()
        for partition in topic.partitions
        if broker.id in partition.replicas
    ]
    return links.listed("KafkaReplicaList", data, "brokers", broker.id, "partition-replicas")


def _broker(links: Links, broker: BrokerDescription) -> BrokerData:
    where = ("brokers", broker.id)
    return BrokerData(
        kind="KafkaBroker",
        metadata=links.metadata(f"/broker={broker.id}", *where),
        cluster_id=links.cluster_id,
        broker_id=broker.id,
        host=broker.host,
        port=broker.port,
        rack=broker.rack,
        configs=links.to(*where, "configs"),
        partition_replicas=links.to(*where, "partition-replicas"),
    )


_BROKER: Final = f"{CLUSTER}/brokers/{{broker_id}}"
ROUTES: Final = (
    route("GET", f"{CLUSTER}/brokers", list_brokers, "List brokers", "Broker", answer=list_of(BrokerData)),
    route("GET", _BROKER, get_broker, "Get a broker", "Broker", answer=BrokerData),
    route(
        "GET", f"{_BROKER}/partition-replicas", list_replicas, "List the replicas of a broker", "Replica",
        answer=list_of(ReplicaData),
    ),
)  # fmt: skip
