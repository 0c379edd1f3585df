"""`ottla up --brokers N`: one command, and Ctrl-C ends all of it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clients import consume, create_topic, produce
from tests.support.requirements import requires
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.compat, pytest.mark.java]

READY = re.compile(r"^ottla cluster of (\d+) ready on (\S+)$", re.MULTILINE)


class Up:
    """The command as a person runs it."""

    def __init__(self, directory: Path, *options: str) -> None:
        requires("java", "maven")
        from tools.apache_zookeeper import jars

        self.output = directory / "up.out"
        command = [sys.executable, "-m", "ottla", "up", "--port", "0", *options]
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [*command, "--data-dir", str(directory / "data")],
                env={**os.environ, "ZOOKEEPER_HOME": str(jars())},
                stdout=output,
                stderr=output,
            )

    @property
    def said(self) -> str:
        return self.output.read_text()

    def bootstrap(self) -> str:
        wait_for(
            lambda: READY.search(self.said) or self.process.poll() is not None, "a cluster", 60
        )
        found = READY.search(self.said)
        assert found is not None, self.said
        return found[2]

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(40)


@pytest.fixture
def ups(tmp_path: Path) -> Iterator[list[Up]]:
    started: list[Up] = []
    yield started
    for up in started:
        if up.process.poll() is None:
            up.process.terminate()
            up.process.wait(40)


def test_a_cluster_comes_goes_and_comes_back(tmp_path: Path, ups: list[Up]) -> None:
    ups.append(Up(tmp_path, "--brokers", "2"))
    bootstrap = ups[0].bootstrap()
    assert len(bootstrap.split(",")) == 2
    topic = create_topic(bootstrap, replicas=2)
    produce(bootstrap, topic, [{"value": b"kept"}] * 5, acks="all")
    assert ups[0].interrupt() == 0
    assert "broker 2 stopped" in ups[0].said
    assert not re.search("Traceback", ups[0].said)
    ups.append(Up(tmp_path, "--brokers", "2"))
    assert len(consume(ups[1].bootstrap(), topic)) == 5
    assert ups[1].interrupt() == 0


def test_a_killed_broker_is_started_again_by_the_command_that_is_shown(
    tmp_path: Path, ups: list[Up]
) -> None:
    ups.append(Up(tmp_path, "--brokers", "2"))
    _, second = ups[0].bootstrap().split(",")
    wait_for(lambda: "Ctrl-C" in ups[0].said, "the whole greeting")
    [pid] = re.findall(rf"{second}, pid (\d+), metrics on http://127.0.0.1:\d+/", ups[0].said)
    [kill] = re.findall(r"^    (kill .*)$", ups[0].said, re.MULTILINE)
    assert kill == f"kill -9 {pid}"
    subprocess.run(kill, shell=True, check=True)
    wait_for(lambda: "broker 2 has ended" in ups[0].said, "the news of its end")
    [*_, again] = re.findall(r"^  (/\S+ broker .*)$", ups[0].said, re.MULTILINE)
    with subprocess.Popen(
        again.split(), cwd="/", env={"PATH": "/usr/bin:/bin"}, stdout=subprocess.PIPE, text=True
    ) as broker:
        assert broker.stdout is not None
        assert broker.stdout.readline() == f"ottla broker 2 ready on {second}\n"
        broker.terminate()
    assert ups[0].interrupt() == 0
    assert ups[0].said.endswith("ottla stopped\n")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--brokers", "0"), "a cluster has at least one broker"),
        (("--brokers", "2", "--zookeepers", "2"), "1, 3, 5 or 7 servers"),
        (("--brokers", "2", "--set", "nonsense"), "write it as NAME=VALUE"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(
    tmp_path: Path, ups: list[Up], options: tuple[str, ...], sentence: str
) -> None:
    ups.append(Up(tmp_path, *options))
    assert ups[0].process.wait(30) == 1
    assert sentence in ups[0].said
    assert "Traceback" not in ups[0].said
