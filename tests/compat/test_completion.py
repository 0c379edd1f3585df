"""Tab in real shells: commands, options, topics and groups of the broker under test."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

import ottla
from tests.support.broker import OTTLA
from tests.support.clients import create_topic
from tests.support.requirements import requires
from tests.support.terminal import DISCARD_LINE, ENTER, LINE_END, LINE_START, TAB, Terminal

pytestmark = pytest.mark.compat

SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "--interactive"],
}
LOAD = {
    "bash": 'eval "$(ottla completion bash)"',
    "zsh": 'eval "$(ottla completion zsh)"',
    "fish": "set -g fish_autosuggestion_enabled 0; ottla completion fish | source",
}


class Shell:
    """A shell that has read its completion script."""

    def __init__(self, terminal: Terminal, name: str) -> None:
        self._terminal = terminal
        self.name = name
        terminal.press(f"{LOAD[name]}; echo re''ady{ENTER}")
        terminal.wait_for("\nready")

    def completed(self, typed: str, rest: str) -> str:
        """What becomes of a line when Tab has put the rest of a word into it."""
        self._terminal.press(f"{typed}{TAB}")
        self._terminal.wait_for(rest)
        # The line as the shell has it, not as the screen shows it.
        self._terminal.press(f"{LINE_START}echo @ {LINE_END} @; echo do''ne{ENTER}")
        shown = self._terminal.wait_for("\ndone")
        return shown.split("\n@ ")[1].split(" @\n")[0].strip()

    def offered(self, typed: str, *words: str) -> None:
        """Wait until Tab shows all of the words, and give up the line."""
        self._terminal.press(f"{typed}{TAB}{TAB}")
        for word in words:
            self._terminal.wait_for(word)
        self._terminal.press(DISCARD_LINE)


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shell]:
    name: str = request.param
    requires(name)
    environment = {
        "HOME": str(tmp_path),
        "PATH": f"{OTTLA.parent}{os.pathsep}{os.environ['PATH']}",
        "TERM": "xterm",
        "XDG_CONFIG_HOME": str(tmp_path),
    }
    command = [shutil.which(SHELLS[name][0]) or "", *SHELLS[name][1:]]
    with Terminal(command, environment) as terminal:
        yield Shell(terminal, name)


def halves(line: str, at: str) -> tuple[str, str]:
    """What a person types of a line, and what Tab adds to it."""
    where = line.index(at)
    return line[:where], line[where:]


def test_commands_and_options(shell: Shell) -> None:
    assert shell.completed("ottla topi", "cs") == "ottla topics"
    assert shell.completed("ottla topics desc", "ribe") == "ottla topics describe"
    assert shell.completed("ottla topics list --lo", "ng") == "ottla topics list --long"
    shell.offered("ottla context ", "remove", "show")


def test_topics(shell: Shell, bootstrap: str) -> None:
    topic = create_topic(bootstrap, f"orders-{uuid4().hex}-of-today")
    line = f"ottla topics describe -b {bootstrap} {topic}"
    typed, rest = halves(line, "-of-today")
    assert shell.completed(typed, rest) == line


@pytest.mark.parametrize("prefix", ["billing", "billing:eu"])
def test_groups(shell: Shell, bootstrap: str, prefix: str) -> None:
    group = f"{prefix}-{uuid4().hex}-of-today"
    settings = {"bootstrap.servers": bootstrap, "group.id": group}
    with ottla.Consumer(settings) as consumer:
        partition = ottla.TopicPartition(create_topic(bootstrap), 0)
        consumer.assign([partition])
        consumer.commit({partition: 0})
    line = f"ottla groups describe -b {bootstrap} {group}"
    typed, rest = halves(line, "-of-today")
    assert shell.completed(typed, rest) == line
