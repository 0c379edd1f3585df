"""`ottla cluster migrate`: a single broker becomes the first of a cluster."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING

from ottla.cli.connect import add_broker_arguments, ask
from ottla.cli.settings import load_settings

if TYPE_CHECKING:
    from ottla.client.admin import Admin
    from ottla.config.table import Settings
    from ottla.node.migration import Migrated

EXAMPLES = """examples:
  ottla cluster migrate --data-dir /var/lib/ottla --zookeeper zk-1:2181,zk-2:2181/ottla
  ottla cluster migrate server.properties --zookeeper zk-1:2181/ottla
  ottla cluster migrate --data-dir /var/lib/ottla --zookeeper zk-1:2181/ottla --replication-factor 3

Stop the broker first. Its metadata are copied into an empty chroot; afterwards it starts with
zookeeper.connect, and others may join it. Then run it again with --replication-factor.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Whose metadata, and where they go."""
    parser.add_argument(
        "properties", nargs="?", metavar="server.properties", help="the settings of the broker"
    )
    parser.add_argument("--data-dir", metavar="D", help="where the broker has its logs (log.dirs)")
    parser.add_argument(
        "--zookeeper",
        required=True,
        metavar="HOST:PORT[/CHROOT]",
        help="the ensemble, as in zookeeper.connect",
    )
    parser.add_argument(
        "--replication-factor",
        type=int,
        metavar="N",
        help="once N brokers are there, give the internal topics N replicas",
    )
    parser.add_argument(
        "--all-topics", action="store_true", help="with --replication-factor: all topics, not only"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="assignments",
        metavar="NAME=VALUE",
        help="a setting of the broker by Kafka's name; may be given again",
    )
    parser.set_defaults(port=None)
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Copy unless that is done, then raise the replication if that is wanted."""
    from ottla.node.migration import migrate

    arguments.assignments.append(f"zookeeper.connect={arguments.zookeeper}")
    settings = load_settings(arguments, arguments.properties)
    connect = settings.zookeeper.connect
    assert connect is not None
    done = asyncio.run(migrate(settings, connect))
    if done.nodes:
        print(f"{done.nodes} nodes of cluster {done.cluster_id} copied to {connect}")
    else:
        print(f"cluster {done.cluster_id} has its metadata in {connect} already")
    if arguments.replication_factor is None or done.nodes:
        _print_what_is_next(arguments, done)
        return 0
    _raise_replication(arguments, settings, done)
    return 0


def _raise_replication(arguments: argparse.Namespace, settings: Settings, done: Migrated) -> None:
    from ottla.node.more_replicas import ReplicationNotRaised, raise_replication

    async def widen(admin: Admin) -> None:
        found = (await admin.describe_cluster()).cluster_id
        if found != done.cluster_id:
            raise ReplicationNotRaised(
                f"the broker that answered belongs to cluster {found}, not to {done.cluster_id}; "
                "name one of this cluster with -b HOST:PORT"
            )
        await raise_replication(
            admin,
            arguments.replication_factor,
            all_topics=arguments.all_topics,
            transactions_min_isr=settings.transactions.transaction_state_log_min_isr,
        )

    ask(arguments, widen)


def _print_what_is_next(arguments: argparse.Namespace, done: Migrated) -> None:
    where = arguments.properties or f"--data-dir {arguments.data_dir}"
    factor = arguments.replication_factor or 3
    print(
        f"""next:
  start broker {done.node_id} as before, with zookeeper.connect={arguments.zookeeper}
  start the others, each with a broker.id and a log.dirs of its own and the same zookeeper.connect
  ottla cluster migrate {where} --zookeeper {arguments.zookeeper} --replication-factor {factor} -b HOST:PORT
  (and with --all-topics, if not only __consumer_offsets and __transaction_state shall have {factor} replicas)"""
    )
