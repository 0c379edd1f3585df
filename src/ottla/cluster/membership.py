"""This broker as a member of its cluster: what it is called, and what only members know."""

import secrets

from ottla.cluster.tree import NodeExists, NoNode, Tree
from ottla.cluster.znodes import CLUSTER_SECRET


class Membership:
    """One broker in one cluster; the epoch and the incarnation change with each registration, the life seldom.

    `is_current` ends with the session: from then on others may lead what this broker believes to lead, until it has
    registered again and has read what became of it.
    """

    __slots__ = (
        "broker_epoch",
        "broker_id",
        "cluster_id",
        "incarnation",
        "is_current",
        "life",
        "secret",
    )

    def __init__(self, broker_id: int, cluster_id: str, secret: str) -> None:
        self.broker_id = broker_id
        self.cluster_id = cluster_id
        self.secret = secret
        self.broker_epoch = -1
        self.incarnation = -1
        self.life = -1
        self.is_current = True


async def ensure_secret(tree: Tree) -> str:
    """Returns what the brokers of the cluster show one another; the first broker to ask makes it up."""
    while True:
        try:
            data, _ = await tree.get(CLUSTER_SECRET)
            return data.decode()
        except NoNode:
            made = secrets.token_hex(32)
        try:
            await tree.create(CLUSTER_SECRET, made.encode(), make_parents=True)
        except NodeExists:
            continue
        return made
