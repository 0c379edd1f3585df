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


def is_quorate(rows: list[dict[str, Any]]) -> bool:
    """Whether more than half of the servers serve, and one of them leads."""
    modes = [row["mode"] for row in rows]
    return 2 * sum(mode in SERVING for mode in modes) > len(rows) and (
        "leader" in modes or "standalone" in modes
    )


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
        return {**row, "error": f"no answer within {_WITHIN_S:.0f} s"}
    except OSError as failure:
        return {**row, "error": failure.strerror or str(failure)}
    return {**row, **_answered(said)}


def _answered(said: str) -> dict[str, Any]:
    """What a server said; one that has lost its quorum says so instead."""
    lines = dict(line.split(": ", 1) for line in said.splitlines() if ": " in line)
    told = {name: lines[label].strip() for label, name in _FIELDS.items() if label in lines}
    if "mode" not in told:
        return {"error": said.strip().splitlines()[0] if said.strip() else "it said nothing"}
    return told
