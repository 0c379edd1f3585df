"""Clients after a fork: the child has none of their threads, and must say so instead of waiting for ever."""

from __future__ import annotations

import os
from typing import Final, Protocol
from weakref import WeakSet

FORKED: Final = (
    "this client was made before the process forked, and its thread and connections are the parent's: "
    "make a client in each process"
)


class Forkable(Protocol):
    """A client, or a part of one, that cannot go on in a child."""

    def forked(self) -> None:
        """This process is a child: refuse what comes, and take no lock, since its holder may not exist here."""


_clients: WeakSet[Forkable] = WeakSet()


def tell_after_fork(client: Forkable) -> None:
    """Call `forked` in children of this process, as long as the client exists."""
    _clients.add(client)


def _in_child() -> None:
    for client in list(_clients):
        client.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
