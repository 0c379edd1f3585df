"""`ottla brokers list`: the brokers of a cluster."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.output import add_output_argument, show

if TYPE_CHECKING:
    from ottla.client.admin import Admin

EXAMPLES = """examples:
  ottla brokers list
  ottla brokers list -o csv
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How to print."""
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print them."""
    show(ask(arguments, _rows), arguments.output)
    return 0


async def _rows(admin: Admin) -> list[dict[str, Any]]:
    cluster = await admin.describe_cluster()
    topics = await admin.list_topics()
    partitions = [each for topic in topics.values() for each in topic.partitions]
    return [
        {
            "broker": each.id,
            "host": each.host,
            "port": each.port,
            "rack": each.rack,
            "controller": each.id == cluster.controller_id,
            "leads": sum(partition.leader == each.id for partition in partitions),
            "replicas": sum(each.id in partition.replicas for partition in partitions),
            "in_sync": sum(each.id in partition.isr for partition in partitions),
        }
        for each in cluster.brokers
    ]
