"""This broker's place in the tree: its registration, its generated id, the name of the cluster."""

import uuid
from typing import NamedTuple

from ottla.base.errors import ClusterError
from ottla.base.ids import id_text
from ottla.cluster.tree import Create, MultiFailed, NodeExists, NoNode, Set, Tree
from ottla.cluster.znodes import (
    BROKER_SEQUENCE,
    CLUSTER_ID,
    BrokerNode,
    broker_path,
    decode_cluster_id,
    encode_broker,
    encode_cluster_id,
    encode_incarnation,
    incarnation_path,
)


class Registration(NamedTuple):
    """A broker as it was registered; both numbers grow with each registration."""

    broker_id: int
    broker_epoch: int
    incarnation: int


async def register_broker(tree: Tree, broker_id: int, node: BrokerNode) -> Registration:
    """Registers a broker and counts its incarnation in one step; ClusterError if the id is taken.

    The incarnation outlives the broker. Whoever suspects a broker checks it when it deletes the
    registration, since a registration made anew begins at version 0 again.
    """
    path, incarnation = broker_path(broker_id), incarnation_path(broker_id)
    marker = encode_incarnation(node.timestamp_ms)
    before = await tree.exists(incarnation)
    count = Create(incarnation, marker) if before is None else Set(incarnation, marker)
    try:
        await tree.multi([count, Create(path, encode_broker(node), ephemeral=True)])
    except MultiFailed as failed:
        if not isinstance(failed.error, NodeExists):
            raise
        raise ClusterError(
            f"broker id {broker_id} is registered already; give each broker its own broker.id"
        ) from failed
    _, stat = await tree.get(path)
    _, counted = await tree.get(incarnation)
    return Registration(broker_id, stat.czxid, counted.version)


async def generate_broker_id(tree: Tree, reserved_max: int) -> int:
    """Makes an id that no broker has had, above those reserved for ids given by hand."""
    return reserved_max + (await tree.set(BROKER_SEQUENCE, b"")).version


async def ensure_cluster_id(tree: Tree) -> str:
    """Returns the name of the cluster, which the first broker to ask makes up."""
    while True:
        try:
            data, _ = await tree.get(CLUSTER_ID)
            return decode_cluster_id(CLUSTER_ID, data)
        except NoNode:
            made = id_text(uuid.uuid4())
        try:
            await tree.create(CLUSTER_ID, encode_cluster_id(made), make_parents=True)
        except NodeExists:
            continue
        return made
