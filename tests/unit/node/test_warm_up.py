"""A broker that has just started has imported little; a moment later nothing is left to be imported."""

import subprocess
import sys
from pathlib import Path

from ottla.broker.apis import APIS

START_AND_TELL_MODULES = """
import os, signal, sys
from ottla.config.load import load
from ottla.node.run import run_broker

def tell(node):
    print(*sys.modules)
    os.kill(os.getpid(), signal.SIGTERM)

run_broker(load(assignments=[f"log.dirs={sys.argv[1]}", "listeners=PLAINTEXT://127.0.0.1:0"]), tell)
"""
WARM_UP_AND_TELL_MODULES = """
import asyncio, sys
from ottla.node.warm_up import warm_up

asyncio.run(warm_up(0))
print(*sys.modules)
"""
FOR_OTHERS = {
    "a cluster": ("kazoo", "ottla.replication.fetcher", "ottla.cluster.zookeeper_tree"),
    "groups": ("ottla.coordination.groups.shard", "ottla.coordination.groups.classic"),
    "transactions": ("ottla.coordination.transactions.shard",),
    "commands": ("argparse", "ottla.cli", "ottla.client.cluster"),
    "nobody": ("decimal", "http", "importlib.metadata", "kio", "prometheus_client", "zoneinfo"),
}


def modules_of(program: str, *arguments: str) -> set[str]:
    line = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(line, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_a_single_broker_starts_with_what_every_broker_needs(tmp_path: Path) -> None:
    modules = modules_of(START_AND_TELL_MODULES, str(tmp_path))
    assert "ottla.storage.logs" in modules
    handlers = {name for name in modules if name.startswith("ottla.broker.handlers.")}
    assert handlers == {"ottla.broker.handlers.api_versions"}
    for whom, names in FOR_OTHERS.items():
        assert not modules & set(names), f"imported for {whom}"


def test_a_moment_later_every_handler_and_every_machine_is_there() -> None:
    modules = modules_of(WARM_UP_AND_TELL_MODULES)
    assert {f"ottla.broker.handlers.{api.key.name.lower()}" for api in APIS} <= modules
    assert {*FOR_OTHERS["groups"], *FOR_OTHERS["transactions"]} <= modules
