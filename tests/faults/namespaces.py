"""A small network of its own: each broker in a network namespace behind a bridge, with rules that can cut any wire."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from tests.support.requirements import SYSTEM_PATH

_TABLE: Final = "ottla_faults"
_CHAINS: Final = (
    f"add table inet {_TABLE}\n"
    f"add chain inet {_TABLE} incoming {{ type filter hook input priority 0; }}\n"
    f"add chain inet {_TABLE} outgoing {{ type filter hook output priority 0; }}\n"
)


def run(*command: str, text: str | None = None) -> str:
    """What a command prints; it must succeed."""
    environment = {**os.environ, "PATH": SYSTEM_PATH}
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, env=environment, timeout=60
    )
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout.strip()


@dataclass(frozen=True, slots=True)
class Namespace:
    """One machine of the network."""

    name: str
    address: str

    def enter(self, command: Iterable[str]) -> list[str]:
        """The command line that runs a command there; the process is the command's own."""
        return ["ip", "netns", "exec", self.name, *command]

    def rules(self, *rules: str) -> None:
        """Have just these rules; each is a chain and what it says, as nft takes it."""
        lines = "".join(f"add rule inet {_TABLE} {rule}\n" for rule in rules)
        script = f"{_CHAINS}flush table inet {_TABLE}\n{lines}"
        run(*self.enter(["nft", "-f", "-"]), text=script)

    def hang_up(self, address: str) -> None:
        """Reset the connections to an address, also those on which nothing is said."""
        run(*self.enter(["ss", "--kill", "--tcp", "dst", address]))

    def heal(self) -> None:
        """No rules any more."""
        self.rules()


class Bridge:
    """Namespaces, wired to one bridge that this machine is at, too; all of it goes with the context."""

    def __init__(self, count: int) -> None:
        # Names of interfaces are short; the process id tells them from those of other runs.
        self._tag = f"o{os.getpid() % 1_000_000:x}"
        second, third = divmod(os.getpid() % 10_000, 250)
        network = f"10.{213 + second}.{third}"
        self.address = f"{network}.254"
        self.namespaces = [
            Namespace(f"{self._tag}-{number}", f"{network}.{number}")
            for number in range(1, count + 1)
        ]

    def open(self, stack: ExitStack) -> None:
        """Set it up; the stack takes it down."""
        bridge = f"{self._tag}br"
        run("ip", "link", "add", bridge, "type", "bridge")
        stack.callback(run, "ip", "link", "delete", bridge)
        run("ip", "address", "add", f"{self.address}/24", "dev", bridge)
        run("ip", "link", "set", bridge, "up")
        for number, namespace in enumerate(self.namespaces, 1):
            self._wire(stack, bridge, number, namespace)

    def _wire(self, stack: ExitStack, bridge: str, number: int, namespace: Namespace) -> None:
        outside, name = f"{self._tag}v{number}", namespace.name
        run("ip", "netns", "add", name)
        stack.callback(run, "ip", "netns", "delete", name)
        run("ip", "link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", name)
        stack.callback(run, "ip", "link", "delete", outside)
        run("ip", "link", "set", outside, "master", bridge, "up")
        inside = ("ip", "-n", name)
        run(*inside, "address", "add", f"{namespace.address}/24", "dev", "eth0")
        run(*inside, "link", "set", "eth0", "up")
        run(*inside, "link", "set", "lo", "up")
        namespace.heal()
