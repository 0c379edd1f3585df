"""zookeeper-shell: looks at and changes the nodes of a ZooKeeper, one command or many."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.kafka.command import complain, guarded
from ottla.cli.kafka.options import Failed

if TYPE_CHECKING:
    from ottla.cluster.znode_session import ZnodeSession

_USAGE: Final = "USAGE: zookeeper-shell zookeeper_host:port[/path] [args...]"
_OWN: Final = {"help": "", "history": "", "quit": "", "redo": "cmdno"}
"""Commands that need no ZooKeeper, and how they are used."""
_UNKNOWN: Final = 127
_SHOWN: Final = 11
_WORD: Final = re.compile(r"""[^"'\s]\S*|"[^"]*"|'[^']*'""")


def main(argv: Sequence[str] | None = None) -> int:
    """Run zookeeper-shell; the exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    if not words:
        complain(_USAGE)
        return 1
    return guarded(lambda: _run(words[0], words[1:]))


def _run(address: str, words: Sequence[str]) -> int:
    if "-zk-tls-config-file" in words:
        raise Failed("-zk-tls-config-file: TLS to ZooKeeper is not available in this version")
    # Whoever asks how it is used need not wait for what talks to ZooKeeper.
    from ottla.cluster.znode_session import ZnodeSession

    hosts, chroot = _place(address)
    print(f"Connecting to {address}")
    if not words:
        print(
            f"Welcome to ZooKeeper!\nJLine support is {'en' if sys.stdin.isatty() else 'dis'}abled"
        )
    session = ZnodeSession(hosts, chroot, _tell)
    session.open()
    try:
        _tell("None", None)
        shell = _Shell(session)
        return shell.perform(words) if words else shell.read(_lines(address, shell))
    finally:
        session.close()


class _Shell:
    """One session, and what was typed in it."""

    def __init__(self, session: ZnodeSession) -> None:
        self._session = session
        self.typed: list[str] = []

    def read(self, lines: Iterator[str]) -> int:
        """Perform line after line until `quit` or the end; the exit code of the last one."""
        code = 0
        for line in lines:
            words = _split(line)
            if words:
                self.typed.append(line.strip())
                code = self.perform(words)
                if words[0] == "quit":
                    break
        return code

    def perform(self, words: Sequence[str]) -> int:
        """Perform one command; its exit code."""
        from ottla.cli.kafka.zookeeper_commands import WORDS, Malformed, perform
        from ottla.cluster.znode_session import ZnodeRefused

        name = words[0]
        try:
            if name in WORDS:
                perform(self._session, name, words[1:])
                return 0
            if name in _OWN:
                return self._own(name, words[1:])
        except (Malformed, ZnodeRefused) as refused:
            complain(str(refused))
            return 1
        _help()
        complain(f"Command not found: Command not found {name}")
        return _UNKNOWN

    def _own(self, name: str, words: Sequence[str]) -> int:
        if name == "help":
            _help()
        elif name == "history":
            first = max(0, len(self.typed) - _SHOWN)
            for number, line in enumerate(self.typed[first:], first):
                print(f"{number} - {line}")
        elif name == "redo":
            if not words or not words[0].isdecimal() or int(words[0]) >= len(self.typed) - 1:
                complain("Command index out of range")
                return 1
            return self.perform(_split(self.typed[int(words[0])]))
        else:
            _tell("None", None, "Closed")
        return 0


def _place(address: str) -> tuple[str, str]:
    from ottla.config.zookeeper import OptionalConnect

    kind = OptionalConnect()
    try:
        found = kind.parse(address)
    except ValueError:
        found = None
    if found is None:
        raise Failed(f"{address}: must be {kind.allowed()}")
    return ",".join(found.hosts), found.chroot


def _lines(address: str, shell: _Shell) -> Iterator[str]:
    if not sys.stdin.isatty():
        yield from sys.stdin
        return
    import readline  # noqa: F401 - lets a person edit the line, and go back to earlier ones

    while True:
        try:
            yield input(f"[zk: {address}(CONNECTED) {len(shell.typed)}] ")
        except EOFError:
            return


def _split(line: str) -> list[str]:
    return [word[1:-1] if word[0] in "\"'" else word for word in _WORD.findall(line)]


def _tell(event: str, path: str | None, state: str = "SyncConnected") -> None:
    print(
        f"\nWATCHER::\n\nWatchedEvent state:{state} type:{event} path:{path or 'null'}", flush=True
    )


def _help() -> None:
    from ottla.cli.kafka.zookeeper_commands import WORDS

    usages = {name: row.usage for name, row in WORDS.items()} | _OWN
    complain("ZooKeeper -server host:port -client-configuration properties-file cmd args")
    for name, usage in sorted(usages.items(), key=lambda pair: pair[0].lower()):
        complain(f"\t{name} {usage}".rstrip())
