"""What the README and docs/ say to run runs: in their order, in a fresh directory, against one broker."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

import ottla
from ottla.cli.parsing import parse
from tests.examples.blocks import MARKS, Block, blocks, read
from tests.support.broker import OttlaBroker
from tests.support.requirements import requires
from tests.support.waiting import wait_for
from tools.java import SHORT_LIVED

pytestmark = pytest.mark.compat

BLOCKS = blocks()
RUN = [block for block in BLOCKS if block.mark in ("", "given")]
PROGRAMS = [block for block in RUN if block.language == "python" and not block.is_test]
SCRIPTS = [block for block in RUN if block.language != "python"]
WITHIN_S = 240


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OttlaBroker]:
    """What the pages have at localhost:9092, with a few orders."""
    with OttlaBroker(tmp_path_factory.mktemp("pages") / "data") as started:
        order(started)
        yield started


def order(broker: OttlaBroker) -> None:
    """One more order for who reads them."""
    with ottla.Producer(bootstrap_servers=broker.bootstrap, value_serializer="json") as producer:
        producer.send("orders", {"amount": 7}, b"customer 1")


def at_hand(broker: OttlaBroker, directory: Path) -> dict[str, str]:
    """The environment of a reader who has installed ottla."""
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(directory),
        "OTTLA_BOOTSTRAP_SERVERS": broker.bootstrap,
        "SPARK_SUBMIT_OPTS": " ".join(SHORT_LIVED),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def as_here(block: Block, broker: OttlaBroker, directory: Path) -> str:
    """A block with this broker's address, and with directories that a test may write to."""
    text = f"{block.says}\n{block.text}" if block.mark == "given" else block.text
    return text.replace("localhost:9092", broker.bootstrap).replace("/var/lib", str(directory))


def test_each_mark_is_known_and_says_why() -> None:
    for block in BLOCKS:
        assert block.mark in ("", *MARKS), f"{block.name}: no such mark: {block.mark}"
        if block.mark in ("not run", "given", "until"):
            assert block.says, f"{block.name}: <!-- {block.mark} --> says nothing"


def test_a_mark_belongs_to_the_fence_below_it() -> None:
    page = "<!-- output -->\n```\nleft\n```\n\n```sh\nright\n```\n\n```properties\nnone=1\n```\n"
    assert list(read("page", page)) == [
        Block("page", 2, "", "left\n", "output", ""),
        Block("page", 6, "sh", "right\n"),
    ]


def test_programs_run_one_after_the_other(broker: OttlaBroker, tmp_path: Path) -> None:
    requires("java")
    program = "\n".join(
        f"# {block.name}\n{as_here(block, broker, tmp_path)}\nprint('done with {block.name}', flush=True)"
        for block in PROGRAMS
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=at_hand(broker, tmp_path),
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("done with ")] == [
        f"done with {block.name}" for block in PROGRAMS
    ]


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if block.mark == "until"], ids=lambda block: block.name
)
def test_programs_that_go_on_for_ever_do_what_they_say(
    block: Block, broker: OttlaBroker, tmp_path: Path
) -> None:
    printed = tmp_path / "printed"
    with (
        printed.open("w") as output,
        subprocess.Popen(
            [sys.executable, "-u", "-c", as_here(block, broker, tmp_path)],
            cwd=tmp_path,
            env=at_hand(broker, tmp_path),
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as program,
    ):
        try:
            wait_for(lambda: order(broker) or block.says in printed.read_text(), block.says, 30)
        finally:
            program.kill()


def test_commands_run(broker: OttlaBroker, tmp_path: Path) -> None:
    for block in SCRIPTS:
        done = subprocess.run(
            ["bash", "-e", "-c", as_here(block, broker, tmp_path)],
            cwd=tmp_path,
            env=at_hand(broker, tmp_path),
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )
        assert done.returncode == 0, block.name + done.stdout + done.stderr


def test_tests_pass(tmp_path: Path) -> None:
    tests = [block for block in RUN if block.is_test]
    for number, block in enumerate(tests):
        (tmp_path / f"test_{number}.py").write_text(f"{block.says}\n{block.text}")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(tmp_path), "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, [block.name for block in tests] + [done.stdout]


def commands(block: Block) -> Iterator[list[str]]:
    """The words of each `ottla` in a block, without what the shell takes."""
    for line in block.text.splitlines():
        if line.startswith("  "):
            words = shlex.shlex(line.replace('"$(', ";").replace(')"', ";"), None, True, "();<>|&")
            words.whitespace_split = True
            yield from _commands(list(words))


def _commands(words: list[str]) -> Iterator[list[str]]:
    while "ottla" in words:
        words = words[words.index("ottla") + 1 :]
        yield list(takewhile(lambda word: not set(word) <= set("();<>|&"), words))


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if block.mark == "parsed"], ids=lambda block: block.name
)
def test_lines_of_help_are_understood(block: Block) -> None:
    lines = list(commands(block))
    assert lines, f"{block.name} has no command"
    for words in lines:
        parse(words)
