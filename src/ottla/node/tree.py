"""Opens the metadata of a broker's cluster, embedded or in ZooKeeper, and checks that it belongs there."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Final, NamedTuple

from ottla.base.errors import ConfigError
from ottla.base.log import logger
from ottla.cluster import sqlite_tree
from ottla.cluster.registration import (
    IdTaken,
    check_place,
    ensure_cluster_id,
    generate_broker_id,
)
from ottla.cluster.tree import Tree
from ottla.cluster.znodes import Endpoint
from ottla.config.checks import has_own_id
from ottla.config.table import Settings
from ottla.config.zookeeper import ZookeeperConfig, ZookeeperConnect
from ottla.storage.log_dir import META_PROPERTIES, read_properties
from ottla.storage.logs import Logs

log = logger(__name__)

_LOOK_S: Final = 0.5
_LISTENS_S: Final = 1.0
_SPARE_S: Final = 5.0
TREE_FILE: Final = "metadata.sqlite"
EMBEDDED: Final = "embedded"
ZOOKEEPER: Final = "zookeeper"


class Home(NamedTuple):
    """Where a broker belongs: its cluster's metadata and name, and the id it has there."""

    tree: Tree
    cluster_id: str
    node_id: int


async def open_home(settings: Settings, logs: Logs) -> Home:
    """Opens the tree and settles who this broker is; nothing is changed if that cannot be."""
    readable = [each.path for each in logs.dirs if each.offline is None]
    known = [read_properties(f"{path}/{META_PROPERTIES}") for path in readable]
    engine = EMBEDDED if settings.zookeeper.connect is None else ZOOKEEPER
    for path, properties in zip(readable, known, strict=True):
        _check_engine(path, properties.get("ottla.engine", engine), settings)
    tree = await _open_tree(settings.zookeeper, logs)
    try:
        expected = _first(known, "cluster.id") if engine == ZOOKEEPER else None
        cluster_id = await ensure_cluster_id(tree, expected)
        node_id = await _node_id(settings, tree, known)
        logs.check_owner(cluster_id, node_id, engine)
        directories = [p["directory.id"] for p in known if "directory.id" in p]
        await _find_place(tree, node_id, directories, settings.zookeeper.session_timeout_ms / 1000)
        logs.identify(cluster_id, node_id, engine)
    except BaseException:
        await tree.close()
        raise
    return Home(tree, cluster_id, node_id)


async def _find_place(
    tree: Tree, node_id: int, directories: list[str], session_timeout_s: float
) -> None:
    """Wait for the end of a session whose broker is gone, but had other directories: its disk was replaced."""
    deadline = time.monotonic() + session_timeout_s + _SPARE_S
    while True:
        try:
            return await check_place(tree, node_id, directories)
        except IdTaken as taken:
            if time.monotonic() > deadline or await _listens(taken.address):
                raise
            log.warning(
                "a broker with this id and other log directories is still registered, but nobody listens at its"
                " address; waiting for the end of its session",
                broker=node_id,
                address=f"{taken.address.host}:{taken.address.port}",
            )
            await asyncio.sleep(_LOOK_S)


async def _listens(address: Endpoint) -> bool:
    try:
        async with asyncio.timeout(_LISTENS_S):
            _, writer = await asyncio.open_connection(address.host, address.port)
    except ConnectionRefusedError:
        return False
    except (OSError, TimeoutError):
        return True  # that says nothing
    writer.close()
    return True


async def _open_tree(zookeeper: ZookeeperConfig, logs: Logs) -> Tree:
    if zookeeper.connect is None:
        return sqlite_tree.open_tree(Path(logs.dirs[0].path) / TREE_FILE)
    return await open_zookeeper(zookeeper, zookeeper.connect)


async def open_zookeeper(zookeeper: ZookeeperConfig, connect: ZookeeperConnect) -> Tree:
    """Opens the tree of a cluster."""
    # A broker that is alone does not wait for what only a cluster needs.
    from ottla.cluster import zookeeper_tree

    timeout_ms = zookeeper.session_timeout_ms
    return await zookeeper_tree.open_tree(
        zookeeper_tree.ZookeeperOptions(
            hosts=",".join(connect.hosts),
            chroot=connect.chroot,
            session_timeout_ms=timeout_ms,
            connection_timeout_ms=zookeeper.connection_timeout_ms or timeout_ms,
            auth=zookeeper.auth,
            set_acl=zookeeper.set_acl,
        )
    )


async def _node_id(settings: Settings, tree: Tree, known: list[dict[str, str]]) -> int:
    if settings.zookeeper.connect is None or has_own_id(settings):
        return settings.server.node_id
    before = _first(known, "node.id") or _first(known, "broker.id")
    if before is not None:
        return int(before)
    return await generate_broker_id(tree, settings.zookeeper.reserved_broker_max_id)


def _check_engine(directory: str, engine: str, settings: Settings) -> None:
    connect = settings.zookeeper.connect
    if engine == ZOOKEEPER and connect is None:
        raise ConfigError(
            "zookeeper.connect",
            None,
            f"{directory} belongs to a cluster whose metadata are in ZooKeeper; say where, or "
            "choose another log.dirs",
        )
    if engine == EMBEDDED and connect is not None:
        raise ConfigError(
            "zookeeper.connect",
            connect,
            f"{directory} belongs to a single broker that keeps its metadata there; copy them with "
            f"`ottla cluster migrate --data-dir {directory} --zookeeper {connect}`, leave it out, or "
            "choose another log.dirs",
        )


def _first(known: list[dict[str, str]], name: str) -> str | None:
    return next((each[name] for each in known if name in each), None)
