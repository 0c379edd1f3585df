"""`ottla cluster status`: whether brokers, partitions and the ZooKeeper ensemble are well; 1 if they are not."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, TypeAlias

from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.output import add_output_argument, paint, show, show_one

if TYPE_CHECKING:
    from ottla.client.admin import Admin

_Rows: TypeAlias = list[dict[str, Any]]

EXAMPLES = """examples:
  ottla cluster status
  ottla cluster status -o json
  ottla cluster status >/dev/null || ottla doctor
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How to print."""
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print it: a head, the brokers, the ensemble, and the partitions that are unwell."""
    head, brokers, unwell, ensemble = ask(arguments, _status)
    if arguments.output == "table":
        show_one(head, "table")
        print()
        show(brokers, "table")
        if ensemble:
            print()
            show(ensemble, "table")
        if unwell:
            print()
            print(paint("partitions that are unwell", "red"))
            show(unwell, "table")
    elif arguments.output == "json":
        show_one({**head, "members": brokers, "unwell": unwell, "ensemble": ensemble}, "json")
    else:
        show([head], arguments.output)
    return 0 if head["healthy"] else 1


async def _status(
    admin: Admin,
) -> tuple[dict[str, Any], _Rows, _Rows, _Rows]:
    from ottla.cli.ensemble import ensemble, is_quorate

    cluster = await admin.describe_cluster()
    topics = await admin.list_topics()
    partitions = [(topic, each) for topic in topics.values() for each in topic.partitions]
    leaderless = [each for _, each in partitions if each.leader < 0]
    lagging = [each for _, each in partitions if len(each.isr) < len(each.replicas)]
    ids = {each.id for each in cluster.brokers}
    zookeepers = await ensemble(admin, cluster.brokers[0].id)
    quorate = is_quorate(zookeepers) if zookeepers else True
    head = {
        "cluster": cluster.cluster_id,
        "controller": cluster.controller_id if cluster.controller_id in ids else None,
        "brokers": len(cluster.brokers),
        "topics": len(topics),
        "partitions": len(partitions),
        "under_replicated": len(lagging),
        "leaderless": len(leaderless),
        "ensemble": _summary(zookeepers),
        "healthy": cluster.controller_id in ids and quorate and not lagging and not leaderless,
    }
    brokers = [
        {
            "broker": each.id,
            "address": f"{each.host}:{each.port}",
            "rack": each.rack,
            "controller": each.id == cluster.controller_id,
            "leads": sum(partition.leader == each.id for _, partition in partitions),
            "holds": sum(each.id in partition.replicas for _, partition in partitions),
        }
        for each in cluster.brokers
    ]
    unwell = [
        {
            "topic": topic.name,
            "partition": each.index,
            "leader": each.leader if each.leader >= 0 else None,
            "replicas": list(each.replicas),
            "in_sync": list(each.isr),
        }
        for topic, each in partitions
        if each.leader < 0 or len(each.isr) < len(each.replicas)
    ]
    return head, brokers, unwell, zookeepers


def _summary(zookeepers: _Rows) -> str:
    if not zookeepers:
        return "none"
    serving = sum(each["error"] is None for each in zookeepers)
    return f"{serving} of {len(zookeepers)} serve"
