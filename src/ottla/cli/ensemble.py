"""The servers of a ZooKeeper ensemble as they answer for themselves: which leads, which follow, which are silent."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from ottla.base.errors import OttlaError
from ottla.client.admin import Admin
from ottla.client.administration.configs import ConfigResource, ResourceType

_SETTING: Final = "zookeeper.connect"
_DEFAULT_PORT: Final = 2181
_WITHIN_S: Final = 2.0
# The only command that a server answers without being told to: 4lw.commands.whitelist has no other by default.
_QUESTION: Final = b"srvr"
_FIELDS: Final = {
    "Mode": "mode",
    "Zxid": "zxid",
    "Connections": "connections",
    "Node count": "nodes",
}
_LONGEST_ANSWER: Final = 65_536
_UNSEEN: Final = "not seen from here"
SERVING: Final = frozenset({"leader", "follower", "observer", "standalone"})


async def ensemble(admin: Admin, broker_id: int) -> list[dict[str, Any]]:
    """A row for each server that a broker's zookeeper.connect names; none where the tree is embedded."""
    resource = ConfigResource(ResourceType.BROKER, str(broker_id))
    configs = (await admin.describe_configs([resource], names=[_SETTING]))[resource]
    if isinstance(configs, OttlaError) or _SETTING not in configs:
        return []
    return list(await asyncio.gather(*map(_server, servers(configs[_SETTING].value or ""))))


def servers(connect: str) -> list[tuple[str, int]]:
    """The addresses in a connect string, whose chroot is no part of them."""
    hosts = connect.partition("/")[0]
    found = []
    for each in filter(None, (host.strip() for host in hosts.split(","))):
        name, colon, port = each.rpartition(":")
        found.append((name.strip("[]"), int(port)) if colon else (each, _DEFAULT_PORT))
    return found


def may_be_well(rows: list[dict[str, Any]]) -> bool:
    """False if servers answer, and none of them serves: a leader or follower without a majority stops serving.

    A server that cannot be reached from here proves nothing. The brokers may see it: in containers, only they do.
    """
    seen = [row for row in rows if not is_unseen(row)]
    return not seen or any(row["mode"] in SERVING for row in seen)


def summary(rows: list[dict[str, Any]]) -> str:
    """The ensemble in a few words."""
    if not rows:
        return "none"
    serving = sum(row["error"] is None for row in rows)
    unseen = sum(map(is_unseen, rows))
    if unseen == len(rows):
        return f"{unseen} not seen from here"
    return f"{serving} of {len(rows)} serve" + (f", {unseen} not seen from here" if unseen else "")


def is_unseen(row: dict[str, Any]) -> bool:
    """Whether a server cannot be resolved or reached from where the command runs."""
    return (row["error"] or "").startswith(_UNSEEN)


async def _server(address: tuple[str, int]) -> dict[str, Any]:
    host, port = address
    row: dict[str, Any] = {"zookeeper": f"{host}:{port}", "mode": None, "error": None}
    try:
        async with asyncio.timeout(_WITHIN_S):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(_QUESTION)
                said = (await reader.read(_LONGEST_ANSWER)).decode(errors="replace")
            finally:
                writer.close()
    except TimeoutError:
        return {**row, "error": f"{_UNSEEN}: no answer within {_WITHIN_S:.0f} s"}
    except OSError as failure:
        return {**row, "error": f"{_UNSEEN}: {failure.strerror or failure}"}
    return {**row, **_answered(said)}


def _answered(said: str) -> dict[str, Any]:
    """What a server said; one that has lost its quorum says so instead."""
    lines = dict(line.split(": ", 1) for line in said.splitlines() if ": " in line)
    told = {name: lines[label].strip() for label, name in _FIELDS.items() if label in lines}
    if "mode" not in told:
        return {"error": said.strip().splitlines()[0] if said.strip() else "it said nothing"}
    return told
