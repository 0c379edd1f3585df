"""`ottla cluster status`: whether brokers, partitions and the ZooKeeper ensemble are well; 1 if they are not."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.output import add_output_argument, paint, show, show_one
from ottla.inspection.leaderless import waits_for
from ottla.inspection.partition_health import is_explained, partition_health

if TYPE_CHECKING:
    from collections.abc import Collection

    from ottla.client.admin import Admin
    from ottla.client.administration.brokers import BrokerDescription
    from ottla.client.view import Partition, Topic

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


class Status(NamedTuple):
    """What is printed: `unexplained` are the unwell partitions that no missing broker accounts for."""

    head: dict[str, Any]
    brokers: _Rows
    unwell: _Rows
    unexplained: _Rows
    ensemble: _Rows
    gone: list[str]


def run(arguments: argparse.Namespace) -> int:
    """Print it: a head, the brokers, the ensemble, and what is unwell."""
    status = ask(arguments, _status)
    if arguments.output == "table":
        _print(status)
    elif arguments.output == "json":
        lists = {"members": status.brokers, "unwell": status.unwell, "gone": status.gone}
        show_one({**status.head, **lists, "ensemble": status.ensemble}, "json")
    else:
        show([status.head], arguments.output)
    return 0 if status.head["healthy"] else 1


def _print(status: Status) -> None:
    show_one(status.head, "table")
    print()
    show(status.brokers, "table")
    if status.ensemble:
        print()
        show(status.ensemble, "table")
    if status.unexplained:
        print()
        print(paint("partitions that are unwell", "red"))
        show(status.unexplained, "table")
    for sentence in status.gone:
        print()
        print(paint(sentence, "red"))


async def _status(admin: Admin) -> Status:
    from ottla.cli.ensemble import ensemble, may_be_well, summary
    from ottla.inspection.symptoms import with_eligible_leaders

    cluster = await admin.describe_cluster()
    topics = await with_eligible_leaders(admin, await admin.list_topics())
    partitions = [(topic, each) for topic in topics.values() for each in topic.partitions]
    leaderless = [each for _, each in partitions if each.leader < 0]
    lagging = [each for _, each in partitions if len(each.isr) < len(each.replicas)]
    ids = {each.id for each in cluster.brokers}
    zookeepers = await ensemble(admin, cluster.brokers[0].id)
    is_well = cluster.controller_id in ids and may_be_well(zookeepers)
    head = {
        "cluster": cluster.cluster_id,
        "controller": cluster.controller_id if cluster.controller_id in ids else None,
        "brokers": len(cluster.brokers),
        "topics": len(topics),
        "partitions": len(partitions),
        "under_replicated": len(lagging),
        "leaderless": len(leaderless),
        "ensemble": summary(zookeepers),
        "healthy": is_well and not lagging and not leaderless,
    }
    unwell = [
        (topic, each)
        for topic, each in partitions
        if each.leader < 0 or len(each.isr) < len(each.replicas)
    ]
    return Status(
        head,
        [_broker(each, cluster.controller_id, partitions) for each in cluster.brokers],
        [_row(topic, each, ids) for topic, each in unwell],
        [_row(topic, each, ids) for topic, each in unwell if not is_explained(each, ids)],
        zookeepers,
        partition_health(topics.values(), ids, {}).gone_brokers(),
    )


def _broker(
    broker: BrokerDescription, controller: int, partitions: list[tuple[Topic, Partition]]
) -> dict[str, Any]:
    return {
        "broker": broker.id,
        "address": f"{broker.host}:{broker.port}",
        "rack": broker.rack,
        "controller": broker.id == controller,
        "leads": sum(each.leader == broker.id for _, each in partitions),
        "holds": sum(broker.id in each.replicas for _, each in partitions),
    }


def _row(topic: Topic, partition: Partition, alive: Collection[int]) -> dict[str, Any]:
    return {
        "topic": topic.name,
        "partition": partition.index,
        "leader": partition.leader if partition.leader >= 0 else None,
        "replicas": list(partition.replicas),
        "in_sync": list(partition.isr),
        "waits_for": waits_for(partition, alive) if partition.leader < 0 else [],
    }
