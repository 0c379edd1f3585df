"""Reads a transcript of commands, runs them in this process, and makes what they print comparable."""

import asyncio
import io
import json
import re
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from ottla.client.administration.base import Administration
from ottla.client.cluster import GROUP, TRANSACTION
from tests.golden.actors import Actors
from tests.support.clients import create_named, producer

HERE = Path(__file__).parent
RECORDED_AT = "localhost:9092"
CUT = "[... cut ...]"
LOOKING = {"--list", "--describe"}
HELP = "[help]"
HELP_BEGINS = re.compile(r"^Option +Description *$")


class Printed(NamedTuple):
    """What a command left behind."""

    stdout: str
    stderr: str
    code: int


class Step(NamedTuple):
    """A command with what Kafka's own printed, or with `!` something to prepare."""

    line: str
    expected: Printed | None
    stdin: str = ""

    @property
    def words(self) -> list[str]:
        return shlex.split(self.line)

    def agrees(self, printed: Printed) -> bool:
        """Whether a command printed what Kafka's own did, or all that was recorded of it."""
        assert self.expected is not None
        expected = comparable(self.expected, RECORDED_AT)
        if CUT not in expected.stdout:
            return printed == expected
        recorded = {line for line in expected.stdout.splitlines() if line != CUT}
        return recorded <= set(printed.stdout.splitlines()) and printed[1:] == expected[1:]


def read_transcript(path: Path) -> Iterator[Step]:
    """The steps of a transcript, in order."""
    blocks = re.split(r"\n(?=[$!] )", path.read_text())
    for block in blocks[1:]:
        head, _, rest = block.partition("\n")
        yield Step(head[2:], None) if head.startswith("!") else _command(head[2:], rest)


def _command(line: str, text: str) -> Step:
    found = re.fullmatch(
        r"(?:\[stdin\]\n(.*?))?(?:\[stdout\]\n(.*?))?(?:\[stderr\]\n(.*?))?\[exit (\d+)\]\s*",
        text,
        re.DOTALL,
    )
    assert found is not None, text
    return Step(line, Printed(found[2] or "", found[3] or "", int(found[4])), found[1] or "")


def main_of(command: str) -> Callable[[list[str]], int]:
    """The entry point that pip installs under a name."""
    name = command.removeprefix("kafka-").replace("-", "_")
    main: Callable[[list[str]], int] = import_module(f"ottla.cli.kafka.{name}").main
    return main


def run(command: str, *words: str, stdin: str = "") -> Printed:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), patch("sys.stdin", io.StringIO(stdin)):
        code = main_of(command)(list(words))
    return Printed(out.getvalue(), err.getvalue(), code)


def play(
    steps: list[Step], bootstrap: str, directory: Path, settle_s: float = 0.0
) -> list[Printed | None]:
    """Run all steps in order against a broker; what each command printed.

    Kafka answers a change before all of it can be seen, which Java's start gives time for: what
    only looks may look again, for `settle_s` at most.
    """
    printed: list[Printed | None] = []
    with chdir(directory), Actors(bootstrap) as actors:
        for step in steps:
            if step.expected is None:
                prepare(step.line, bootstrap, actors)
                printed.append(None)
                continue
            words = [word.replace(RECORDED_AT, bootstrap) for word in step.words]
            deadline = time.monotonic() + (settle_s if LOOKING & set(words) else 0.0)
            found = run(*words, stdin=step.stdin)
            while not step.agrees(comparable(found, bootstrap)) and time.monotonic() < deadline:
                time.sleep(0.1)
                found = run(*words, stdin=step.stdin)
            printed.append(found)
    return printed


def prepare(line: str, bootstrap: str, actors: Actors) -> None:
    """What the transcript's other commands did."""
    verb, _, rest = line.partition(" ")
    if verb in ("join", "leave", "commit", "transaction"):
        getattr(actors, verb)(*rest.split())
    elif verb == "no":
        delete_all(rest, bootstrap)
    elif verb == "internal":
        make_internal_topics(bootstrap)
    elif verb == "create":
        name, _, partitions = rest.partition(" ")
        create_named(bootstrap, name, int(partitions or 1))
    elif verb == "file":
        name, _, content = rest.partition(" ")
        Path(name).write_text(content.replace("\\n", "\n"))
    else:
        topic, partition, lines = rest.split(" ", 2)
        produce_lines(bootstrap, topic, int(partition), lines.split("|"))


def produce_lines(bootstrap: str, topic: str, partition: int, lines: list[str]) -> None:
    """One batch of records, as a console producer sends them."""
    client = producer(bootstrap, **{"linger.ms": 100, "allow.auto.create.topics": True})
    now_ms = int(time.time() * 1000)  # one time for all, so that the size of the batch is known
    for line in lines:
        key, colon, value = line.rpartition(":")
        client.produce(
            topic, value, key=key if colon else None, partition=partition, timestamp=now_ms
        )
    assert client.flush(20) == 0


def delete_all(what: str, bootstrap: str) -> None:
    """Begin as if the broker were new, whatever other tests did to it."""
    server = ("--bootstrap-server", bootstrap)
    if what == "groups":
        run("kafka-consumer-groups", *server, "--delete", "--all-groups")
        return
    for topic in run("kafka-topics", *server, "--list", "--exclude-internal").stdout.split():
        run("kafka-topics", *server, "--delete", "--topic", topic)


def make_internal_topics(bootstrap: str) -> None:
    """Have the broker make the topics of groups and transactions."""

    async def look_for_coordinators() -> None:
        async with Administration({"bootstrap.servers": bootstrap}) as client:
            for kind in (GROUP, TRANSACTION):
                find = partial(client.cluster.coordinator, "golden", kind)
                await client.cluster.retried(find)

    asyncio.run(look_for_coordinators())


def comparable(printed: Printed, bootstrap: str) -> Printed:
    """Without what differs from run to run, and from Java's order of things."""
    stdout = "\n".join(_canonical(line) for line in printed.stdout.splitlines())
    stderr = _without_advice(printed.stderr.replace(bootstrap, RECORDED_AT)).splitlines()
    for number, line in enumerate(stderr):
        if HELP_BEGINS.match(line):
            stderr[number:] = [HELP]
            break
    return Printed(_in_order(stdout), "\n".join(stderr), printed.code)


def _without_advice(stderr: str) -> str:
    """Kafka's commands only say that they do not know an option."""
    return re.sub(r"; did you mean --\S+\? Try: .*", "", stderr)


def _canonical(line: str) -> str:
    if line.startswith('{"brokers"'):
        return _canonical_log_dirs(line)
    line = re.sub(r"(TopicId|Cluster ID): \S+", r"\1: <id>", line)
    line = re.sub(r'"log_dirs":\["/[^"]*"\]', '"log_dirs":["<path>"]', line)
    line = re.sub(r"^1 +(127.0.0.1|localhost) +\d+ ", "1 <address> ", line)
    line = re.sub(r"\S+:\d+  \(\d+\) +", "<coordinator> ", line)
    line = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<id>", line)
    line = re.sub(r" [\w/+-]{22}(?= +/127.0.0.1 )", " <id>", line)
    line = re.sub(r"(^|(?<=\t))\d+ *(?=\t)", "<number>", line)
    # A broker id is 1 in Kafka's recording and 0 in a broker that nobody configured.
    line = re.sub(r"(Leader|Replicas|Isr|brokers):? \d+", r"\1 <broker>", line)
    return re.sub(r"Configs: (.*)", _canonical_configs, line)


def _canonical_configs(found: re.Match[str]) -> str:
    """Kafka 4.3 stores min.insync.replicas=1 for the whole cluster when it is formatted."""
    configs = {each for each in found[1].split(",") if each not in ("", "min.insync.replicas=1")}
    return f"Configs: {','.join(sorted(configs))}"


def _canonical_log_dirs(line: str) -> str:
    document = json.loads(line)
    for broker in document["brokers"]:
        broker["broker"] = "<broker>"
        for directory in broker["logDirs"]:
            directory["logDir"] = "<path>"
            directory["partitions"].sort(key=lambda each: each["partition"])
            for each in directory["partitions"]:
                # How many batches hold the same lines depends on how long the machine took for them.
                each["size"] = "<bytes>" if each["size"] else 0
    return json.dumps(document)


def _in_order(stdout: str) -> str:
    """Topics in the order of their names: Java prints them in the order of its map."""
    if not stdout.startswith("Topic: "):
        return stdout
    return "\n".join(sorted(re.split(r"\n(?=Topic: )", stdout)))
