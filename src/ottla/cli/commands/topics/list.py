"""`ottla topics list`: all topics, with --long what they hold."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.output import add_output_argument, show
from ottla.inspection.sizes import partition_sizes, record_counts

if TYPE_CHECKING:
    from ottla.client.admin import Admin
    from ottla.client.view import Topic

EXAMPLES = """examples:
  ottla topics list
  ottla topics list 'orders-*' --long
  ottla topics list -o json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which topics, and how much of them."""
    parser.add_argument("pattern", nargs="?", metavar="PATTERN", help="only names such as 'a*'")
    parser.add_argument("-l", "--long", action="store_true", help="with records and bytes")
    parser.add_argument("--internal", action="store_true", help="internal topics, too")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print them."""

    async def listed(admin: Admin) -> list[dict[str, Any]]:
        topics = await admin.list_topics(include_internal=arguments.internal)
        if arguments.pattern:
            topics = {n: t for n, t in topics.items() if fnmatchcase(n, arguments.pattern)}
        rows = [_row(topic) for topic in topics.values()]
        return await _with_sizes(admin, topics, rows) if arguments.long else rows

    matching = f" that match {arguments.pattern}" if arguments.pattern else ""
    show(ask(arguments, listed), arguments.output, nothing=f"there are no topics{matching}")
    return 0


def _row(topic: Topic) -> dict[str, Any]:
    return {
        "topic": topic.name,
        "partitions": len(topic.partitions),
        "replicas": max((len(each.replicas) for each in topic.partitions), default=0),
        "under_replicated": sum(len(p.isr) < len(p.replicas) for p in topic.partitions),
        "leaderless": sum(each.leader < 0 for each in topic.partitions),
    }


async def _with_sizes(
    admin: Admin, topics: Mapping[str, Topic], rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    counts = await record_counts(admin, topics.values())
    sizes = await partition_sizes(admin)
    for row in rows:
        name = row["topic"]
        row["records"] = sum(count for at, count in counts.items() if at.topic == name)
        row["bytes"] = sum(size for at, size in sizes.items() if at.topic == name)
    return rows
