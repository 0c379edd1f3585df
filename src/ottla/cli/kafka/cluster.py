"""kafka-cluster: the id of a cluster, its endpoints, and brokers that are gone for good."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from ottla.cli.kafka.command import run_with_parser
from ottla.cli.kafka.connect import ask
from ottla.cli.kafka.options import Failed
from ottla.client.administration.brokers import BrokerDescription, Brokers

_CONFIG_RENAMED = (
    "Option --config has been deprecated and will be removed in a future version. "
    "Use --command-config instead."
)
_COLUMNS = ("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE")
_WIDTH = 10
_LAST_WIDTH = 15


def main(argv: Sequence[str] | None = None) -> int:
    """Run kafka-cluster; the exit code."""
    return run_with_parser(_parser(), _execute, argv)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="kafka-cluster",
        description="Tells the id and the endpoints of a cluster, and forgets brokers.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("cluster-id", "Print the id of the cluster."),
        ("unregister", "Forget a broker that will not come back."),
        ("list-endpoints", "List the addresses of the brokers."),
    ):
        command = commands.add_parser(name, help=text, description=text)
        servers = command.add_mutually_exclusive_group(required=True)
        servers.add_argument("--bootstrap-server", "-b", help="brokers to ask, as HOST:PORT,...")
        servers.add_argument("--bootstrap-controller", "-C", help="not served: ask brokers")
        files = command.add_mutually_exclusive_group()
        files.add_argument("--command-config", "-c", help="a properties file for the client")
        files.add_argument("--config", help="(DEPRECATED) the same as --command-config")
        if name == "unregister":
            command.add_argument("--id", "-i", type=int, required=True, help="the broker's id")
        if name == "list-endpoints":
            command.add_argument(
                "--include-fenced-brokers", action="store_true", help="also those shut out"
            )
    return parser


def _execute(given: Namespace) -> int:
    if given.bootstrap_controller is not None:
        raise Failed(
            "--bootstrap-controller: brokers answer for everything; use --bootstrap-server"
        )
    if given.config is not None:
        print(_CONFIG_RENAMED)
    file = given.command_config or given.config
    ask(Brokers, given.bootstrap_server, file, lambda admin: _act(admin, given))
    return 0


async def _act(admin: Brokers, given: Namespace) -> None:
    if given.command == "unregister":
        await admin.unregister_broker(given.id)
        print(f"Broker {given.id} is no longer registered.")
        return
    fenced = given.command == "list-endpoints" and given.include_fenced_brokers
    cluster = await admin.describe_cluster(include_fenced=fenced)
    if given.command == "list-endpoints":
        _print_endpoints(cluster.brokers)
    elif cluster.cluster_id is not None:
        print(f"Cluster ID: {cluster.cluster_id}")
    else:
        print("No cluster ID found. The Kafka version is probably too old.")


def _print_endpoints(brokers: Sequence[BrokerDescription]) -> None:
    longest = max((len(broker.host) for broker in brokers), default=0)
    rows = [
        (broker.id, broker.host, broker.port, broker.rack or "null", _state(broker), "broker")
        for broker in brokers
    ]
    for row in (_COLUMNS, *rows):
        number, host, *rest, kind = map(str, row)
        middle = " ".join(cell.ljust(_WIDTH) for cell in rest)
        print(f"{number.ljust(_WIDTH)} {host.ljust(longest)} {middle} {kind.ljust(_LAST_WIDTH)}")


def _state(broker: BrokerDescription) -> str:
    return "fenced" if broker.fenced else "unfenced"
