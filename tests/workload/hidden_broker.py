"""A broker that tells its clients to come through a network, and that may be a mutant."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Self

from tests.support.broker import OttlaBroker
from tests.workload.network import Network


class HiddenBroker(OttlaBroker):
    """Listens on a port that only the network knows."""

    def __init__(
        self, data_dir: Path, network: Network, settings: dict[str, str], mutant: str = ""
    ) -> None:
        advertised = {"advertised.listeners": f"PLAINTEXT://{network.bootstrap}"}
        super().__init__(data_dir, {**settings, **advertised})
        self.mutant = mutant
        self.hidden_port = free_port()
        network.target = "127.0.0.1", self.hidden_port

    def command(self, port: int) -> list[str]:
        """The ready line tells what clients are told, so the port to listen on comes from elsewhere."""
        command = super().command(self.hidden_port)
        if self.mutant:
            return [sys.executable, "-m", "tests.mutants.run", self.mutant, *command[1:]]
        return command

    def kill_and_restart(self) -> Self:
        """kill -9, and another life on the same data."""
        self.kill()
        return self.start()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
