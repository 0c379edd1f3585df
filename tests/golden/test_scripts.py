"""The lines that everybody knows, typed word for word at the installed commands."""

import subprocess
import sys
from pathlib import Path

BIN = Path(sys.executable).parent


def typed(line: str, bootstrap: str) -> tuple[str, str, int]:
    name, *words = line.replace("localhost:9092", bootstrap).split()
    done = subprocess.run([BIN / name, *words], capture_output=True, text=True, timeout=30)
    return done.stdout, done.stderr, done.returncode


def test_topics_are_made_described_and_listed(ottla_bootstrap: str) -> None:
    server = "kafka-topics --bootstrap-server localhost:9092"
    create = f"{server} --create --topic typed --replication-factor 1 --partitions 3"
    assert typed(create, ottla_bootstrap) == ("Created topic typed.\n", "", 0)
    out, err, code = typed(f"{server} --describe --topic typed", ottla_bootstrap)
    assert (err, code) == ("", 0)
    assert out.startswith("Topic: typed\tTopicId: ")
    assert len(out.splitlines()) == 4
    out, err, code = typed(f"{server} --list", ottla_bootstrap)
    assert (err, code) == ("", 0)
    assert "typed" in out.splitlines()


def test_the_names_of_kafkas_scripts_work_too(ottla_bootstrap: str) -> None:
    line = "kafka-configs.sh --bootstrap-server localhost:9092 --describe --topic none-such"
    said = "The topic 'none-such' doesn't exist and doesn't have dynamic config.\n"
    assert typed(line, ottla_bootstrap) == (said, "", 0)


def test_old_habits_are_helped(ottla_bootstrap: str) -> None:
    out, err, code = typed("kafka-topics --zookeeper localhost:2181 --list", ottla_bootstrap)
    assert (out, code) == ("", 1)
    assert err.endswith("Try: kafka-topics --bootstrap-server localhost:9092 --list\n")
    out, err, code = typed("kafka-topics --broker-list localhost:9092 --list", ottla_bootstrap)
    assert (err, code) == ("--broker-list is taken as --bootstrap-server.\n", 0)


def test_a_reader_may_leave_early(ottla_bootstrap: str) -> None:
    line = f"{BIN}/kafka-broker-api-versions --bootstrap-server {ottla_bootstrap} | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(" -> (\n")
