"""`ottla brokers describe`: a broker's log directories, and the settings it was given."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ottla.base.errors import ApiError
from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.output import add_output_argument, show, show_one
from ottla.cli.resources import refuse_unknown_broker
from ottla.cli.setting_changes import config_rows

if TYPE_CHECKING:
    from ottla.client.admin import Admin
    from ottla.client.administration.base import Outcome
    from ottla.client.administration.brokers import LogDir

EXAMPLES = """examples:
  ottla brokers describe 1
  ottla brokers describe 1 -o json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which broker."""
    parser.add_argument("broker", type=int, metavar="ID")
    add_output_argument(parser)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    head, dirs, configs = ask(arguments, lambda admin: _described(admin, arguments.broker))
    if arguments.output == "table":
        show_one(head, "table")
        for rows in (dirs, configs):
            print()
            show(rows, "table", nothing="no settings but defaults")
    else:
        show_one({**head, "log_dirs": dirs, "configs": configs}, arguments.output)
    return 0


async def _described(
    admin: Admin, broker_id: int
) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    from ottla.client.administration.configs import ConfigResource, ResourceType

    await refuse_unknown_broker(admin, broker_id)
    cluster = await admin.describe_cluster()
    [broker] = [each for each in cluster.brokers if each.id == broker_id]
    resource = ConfigResource(ResourceType.BROKER, str(broker_id))
    found = (await admin.describe_configs([resource]))[resource]
    dirs = (await admin.describe_log_dirs([broker_id]))[broker_id]
    head = {
        "broker": broker.id,
        "address": f"{broker.host}:{broker.port}",
        "rack": broker.rack,
        "controller": broker.id == cluster.controller_id,
        "apis": len((await admin.api_versions(broker_id)).versions),
    }
    configs = [] if isinstance(found, ApiError) else config_rows(found, every=False)
    return head, [_log_dir(path, each) for path, each in dirs.items()], configs


def _log_dir(path: str, found: Outcome[LogDir]) -> dict[str, Any]:
    if isinstance(found, ApiError):
        return {"log_dir": path, "state": str(found), "replicas": None, "bytes": None, "free": None}
    return {
        "log_dir": path,
        "state": "online",
        "replicas": len(found.replicas),
        "bytes": sum(each.size_bytes for each in found.replicas.values()),
        "free": found.usable_bytes if found.usable_bytes >= 0 else None,
    }
