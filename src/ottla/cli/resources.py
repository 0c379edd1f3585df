"""What settings belong to, as options: --topic, --broker, --all-brokers, --group."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ottla.base.errors import OttlaError
from ottla.cli.names import find_topic
from ottla.client.administration.configs import ConfigResource, ResourceType

if TYPE_CHECKING:
    from ottla.client.admin import Admin


def add_resource_arguments(parser: argparse.ArgumentParser) -> None:
    """Exactly one of them."""
    one = parser.add_mutually_exclusive_group(required=True)
    one.add_argument("--topic", metavar="TOPIC")
    one.add_argument("--broker", type=int, metavar="ID")
    one.add_argument("--all-brokers", action="store_true", help="what counts for every broker")
    one.add_argument("--group", metavar="GROUP")


async def chosen_resource(admin: Admin, arguments: argparse.Namespace) -> ConfigResource:
    """The one that is meant; one that is not there is refused."""
    if arguments.topic is not None:
        await find_topic(admin, arguments.topic)
        return ConfigResource(ResourceType.TOPIC, arguments.topic)
    if arguments.group is not None:
        return ConfigResource(ResourceType.GROUP, arguments.group)
    if arguments.all_brokers:
        return ConfigResource(ResourceType.BROKER, "")
    await refuse_unknown_broker(admin, arguments.broker)
    return ConfigResource(ResourceType.BROKER, str(arguments.broker))


async def refuse_unknown_broker(admin: Admin, broker_id: int) -> None:
    """Say which brokers there are, if this one is not among them."""
    there = [each.id for each in (await admin.describe_cluster()).brokers]
    if broker_id not in there:
        shown = ", ".join(map(str, there))
        raise OttlaError(f"there is no broker {broker_id} at present; there are: {shown}")


def resource_words(arguments: argparse.Namespace) -> str:
    """How to speak of it."""
    if arguments.topic is not None:
        return f"topic {arguments.topic}"
    if arguments.group is not None:
        return f"group {arguments.group}"
    return "all brokers" if arguments.all_brokers else f"broker {arguments.broker}"
