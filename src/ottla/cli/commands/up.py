"""`ottla up`: everything on this machine with one command, for people."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from ottla.base.errors import OttlaError
from ottla.cli.http_beside import HttpBeside
from ottla.cli.installed import command, python
from ottla.cli.serving import serve
from ottla.cli.settings import add_setting_arguments, load_settings

if TYPE_CHECKING:
    from ottla.node.local_cluster import LocalBroker, LocalCluster
    from ottla.node.node import Node

SUMMARY = "Start ottla on this machine and show what to try."
EXAMPLES = """examples:
  ottla up
  ottla up --port 19092 --data-dir /tmp/try-ottla
  ottla up --brokers 3
  ottla up --brokers 3 --zookeepers 3 --fresh
"""
_DEFAULTS = {
    # A person who tries things out starts one consumer and does not want to wait for a second.
    "group.initial.rebalance.delay.ms": "0",
    "log.dirs": "ottla-data",
    "ottla.log.level": "warning",
}


# A person's cluster keeps three copies, and takes writes while two of them are there.
_CLUSTER_DEFAULTS = {
    "group.initial.rebalance.delay.ms": "0",
    "ottla.log.level": "warning",
}
_CLUSTER_DIRECTORY = "ottla-cluster"
_FIRST_PORT = 9092
_LOOK_S = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How many brokers, and what overrides their settings."""
    parser.add_argument(
        "--brokers", type=int, default=1, metavar="N", help="how many brokers (default 1)"
    )
    parser.add_argument(
        "--zookeepers",
        type=int,
        default=1,
        metavar="N",
        help="how many ZooKeeper servers, for more than one broker (default 1)",
    )
    parser.add_argument(
        "--fresh", action="store_true", help="delete what an earlier cluster left in the data dir"
    )
    add_setting_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    if arguments.brokers < 1:
        raise OttlaError(f"--brokers {arguments.brokers}: a cluster has at least one broker")
    if arguments.brokers == 1:
        return _run_one(arguments)
    return _run_cluster(arguments)


def _run_one(arguments: argparse.Namespace) -> int:
    beside = HttpBeside(arguments)

    def ready(node: Node) -> None:
        print(node.ready_line, flush=True)
        beside.start(node.bootstrap)
        # The broker serves while this one waits for the other process.
        threading.Thread(target=_greet, args=(node, beside), daemon=True).start()

    try:
        code = serve(load_settings(arguments, None, _DEFAULTS), ready)
    finally:
        beside.stop()
    print("ottla stopped", flush=True)
    return code


def _run_cluster(arguments: argparse.Namespace) -> int:
    from ottla.node.local_cluster import LocalCluster

    beside = HttpBeside(arguments)
    directory = Path(arguments.data_dir or _CLUSTER_DIRECTORY)
    if arguments.fresh:
        for old in (*directory.glob("broker-*"), *directory.glob("zookeeper-*")):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    port = _FIRST_PORT if arguments.port is None else arguments.port
    cluster = LocalCluster(
        directory,
        arguments.brokers,
        arguments.zookeepers,
        first_port=port,
        settings=_cluster_settings(arguments),
    )
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    try:
        cluster.start(lambda line: print(f"  {line}", flush=True))
        beside.start(cluster.bootstrap)
        _greet_cluster(cluster, directory, beside.url())
        _watch(cluster, stopping)
    finally:
        print("stopping ...", flush=True)
        beside.stop()
        cluster.stop(lambda line: print(f"  {line}", flush=True))
    print("ottla stopped", flush=True)
    return 0


def _cluster_settings(arguments: argparse.Namespace) -> dict[str, str]:
    copies = str(min(arguments.brokers, 3))
    enough = str(min(arguments.brokers - 1, 2))
    settings = {
        **_CLUSTER_DEFAULTS,
        "default.replication.factor": copies,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "min.insync.replicas": enough,
    }
    for assignment in arguments.assignments:
        name, found, value = assignment.partition("=")
        if not found:
            raise OttlaError(f"--set {assignment}: write it as NAME=VALUE")
        settings[name] = value
    return settings


def _watch(cluster: LocalCluster, stopping: threading.Event) -> None:
    told: set[int] = set()
    while not stopping.wait(_LOOK_S):
        for broker in cluster.ended():
            if broker.number not in told:
                told.add(broker.number)
                print(
                    f"broker {broker.number} has ended; see {broker.log_file}. This starts it again:\n"
                    f"  {_again(broker)}",
                    flush=True,
                )


def _again(broker: LocalBroker) -> str:
    """The command that starts a broker again, in a terminal of its own."""
    return f"{command('ottla')} {shlex.join(broker.arguments)}"


def _greet_cluster(cluster: LocalCluster, directory: Path, url: str | None) -> None:
    bootstrap = cluster.bootstrap
    first, *_, last = cluster.brokers
    topics, producer = command("kafka-topics"), command("kafka-console-producer")
    lines = [
        f"ottla cluster of {len(cluster.brokers)} ready on {bootstrap}",
        "",
        *(
            f"  broker {broker.number}    {broker.bootstrap}, pid {broker.pid}, {broker.metrics}"
            for broker in cluster.brokers
        ),
        "",
        "  Try it in another terminal, and kill a broker while it runs:",
        f"    {topics} --bootstrap-server {first.bootstrap} --create --if-not-exists --topic hello",
        f"    echo 'hello, ottla' | {producer} --bootstrap-server {bootstrap} --topic hello",
        f"    kill -9 {last.pid}",
        f"    {topics} --bootstrap-server {first.bootstrap} --describe --topic hello",
        f"  and start broker {last.number} again:",
        f"    {_again(last)}",
        "",
        *_rest(url),
        f"  ZooKeeper   {cluster.ensemble.connect}",
        f"  data        {os.path.relpath(directory)}",
        "  stop        Ctrl-C",
    ]
    print("\n".join(lines), flush=True)


def _rest(url: str | None) -> list[str]:
    if url is None:
        return []
    return [f"  console     {url}/ui/", f"  REST        {url}, to be tried at {url}/docs/"]


def _greet(node: Node, beside: HttpBeside) -> None:
    bootstrap = node.bootstrap
    producer, consumer = command("kafka-console-producer"), command("kafka-console-consumer")
    lines = [
        "",
        "  Any Kafka client can use it now. Try, in another terminal:",
        f"    echo 'hello, ottla' | {producer} --bootstrap-server {bootstrap} --topic hello",
        f"    {consumer} --bootstrap-server {bootstrap} --topic hello --from-beginning",
        f"    {command('ottla')} topics list --bootstrap-server {bootstrap}",
        "  or from Python:",
        f"    {python()} -c \"import ottla; producer = ottla.Producer(bootstrap_servers='{bootstrap}');"
        " producer.send('hello', b'hello, ottla'); producer.close()\"",
        "",
        *_rest(beside.url()),
        f"  data        {', '.join(str(path) for path in node.log_dirs)}",
    ]
    if node.metrics_address:
        lines.append(f"  metrics     http://{node.metrics_address}/metrics and /health")
    lines.append("  stop        Ctrl-C")
    print("\n".join(lines), flush=True)
