"""Commands start at once: they import little, and answer while Java would still be starting."""

import resource
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.broker import OttlaBroker

BIN = Path(sys.executable).parent
HEAVY = (
    "kio",
    "click",
    "rich",
    "uvloop",
    "importlib.metadata",
    "cryptography",
    "ottla.security.client",
)
RUNS = 20
MOST_SECONDS = 0.3
"""Of CPU: what others do on this machine does not count. Measured: 0.09."""

RUN_AND_TELL_MODULES = """
import sys
from importlib import import_module
code = import_module("ottla.cli.kafka." + sys.argv[1]).main(sys.argv[2:])
print(code, *sorted(sys.modules), file=sys.stderr)
"""
LINES = {
    "topics": "--list",
    "consumer_groups": "--list",
    "groups": "--list",
    "transactions": "list",
    "console_consumer": "--topic t --partition 0 --timeout-ms 0",
    "console_producer": "--topic t --sync",
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory):
    with OttlaBroker(tmp_path_factory.mktemp("start") / "data") as started:
        yield started.bootstrap


@pytest.mark.parametrize("command", LINES)
def test_nothing_heavy_is_imported(broker: str, command: str) -> None:
    words = ["--bootstrap-server", broker, *LINES[command].split()]
    done = subprocess.run(
        [sys.executable, "-c", RUN_AND_TELL_MODULES, command, *words],
        input="a line\n",
        capture_output=True,
        text=True,
        timeout=30,
    )
    code, *modules = done.stderr.splitlines()[-1].split()
    assert code == "0"
    assert "ottla.client.cluster" in modules
    assert not [name for name in modules if name.startswith(HEAVY)]
    assert not [name for name in modules if name.startswith(("ottla.broker", "ottla.storage"))]
    secured = [name for name in modules if name.startswith("ottla.security.")]
    assert secured == ["ottla.security.settings"]


def test_topics_are_listed_at_once(broker: str) -> None:
    line = [BIN / "kafka-topics", "--bootstrap-server", broker, "--list"]
    seconds = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(line, check=True, capture_output=True, timeout=30)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert statistics.median(seconds) < MOST_SECONDS
