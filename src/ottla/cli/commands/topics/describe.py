"""`ottla topics describe`: a topic and its partitions."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition, id_text
from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.names import find_topic
from ottla.cli.output import add_output_argument, show, show_one
from ottla.inspection.sizes import Span, partition_sizes, spans

if TYPE_CHECKING:
    from ottla.client.admin import Admin
    from ottla.client.view import Topic

EXAMPLES = """examples:
  ottla topics describe orders
  ottla topics describe orders -o json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which topic."""
    parser.add_argument("topic", metavar="TOPIC")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print it: a head and a line for each partition."""
    head, partitions = ask(arguments, lambda admin: _described(admin, arguments.topic))
    if arguments.output == "json":
        show_one({**head, "partitions": partitions}, "json")
    elif arguments.output == "table":
        show_one(head, "table")
        print()
        show(partitions, "table")
    else:
        show(partitions, arguments.output)
    return 0


async def _described(admin: Admin, name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    topic = await find_topic(admin, name)
    led = [TopicPartition(name, each.index) for each in topic.partitions if each.leader >= 0]
    held, sizes = await spans(admin, led), await partition_sizes(admin)
    head = {
        "topic": name,
        "id": id_text(topic.id),
        "internal": topic.internal,
        "records": sum(span.end - span.begin for span in held.values()),
        "bytes": sum(size for at, size in sizes.items() if at.topic == name),
        "configs": await _own_configs(admin, name),
    }
    return head, _partitions(topic, held)


async def _own_configs(admin: Admin, name: str) -> dict[str, str | None]:
    from ottla.client.administration.configs import ConfigResource, ConfigSource, ResourceType

    resource = ConfigResource(ResourceType.TOPIC, name)
    found = (await admin.describe_configs([resource]))[resource]
    if isinstance(found, ApiError):
        return {}
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG
    return {each.name: each.value for each in found.values() if each.source == own}


def _partitions(topic: Topic, held: dict[TopicPartition, Span]) -> list[dict[str, Any]]:
    rows = []
    for each in topic.partitions:
        span = held.get(TopicPartition(topic.name, each.index))
        rows.append(
            {
                "partition": each.index,
                "leader": each.leader if each.leader >= 0 else None,
                "replicas": list(each.replicas),
                "in_sync": list(each.isr),
                "offline": list(each.offline),
                "begin": None if span is None else span.begin,
                "end": None if span is None else span.end,
            }
        )
    return rows
