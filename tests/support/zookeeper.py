"""A real ZooKeeper for tests: its jars, its servers, and ways to end a session behind its back."""

import asyncio
import itertools
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ottla.cluster.zookeeper_tree import ZookeeperOptions, ZookeeperTree, open_tree
from ottla.node.ensemble import LocalEnsemble, Server
from ottla.node.zookeeper_jars import find_classpath
from tests.support.requirements import REQUIREMENTS, requires
from tests.support.waiting import wait_for

_chroots = itertools.count()


def environment() -> dict[str, str]:
    """Where the jars of the pinned version are; without Maven, nowhere in particular."""
    requires("java")
    has_maven, _ = REQUIREMENTS["maven"]
    if not has_maven():
        return {}
    from tools.apache_zookeeper import jars

    return {"ZOOKEEPER_HOME": str(jars())}


def classpath() -> str:
    """The jars of the pinned version; without Maven, whatever this machine has."""
    return find_classpath({**os.environ, **environment()})


@contextmanager
def ensemble(directory: Path, servers: int = 1, **options: object) -> Iterator[LocalEnsemble]:
    """Servers that do not wait for the disk, since no test cuts their power."""
    quick = ("-Dzookeeper.forceSync=no",)
    local = LocalEnsemble(
        directory,
        servers,
        classpath=classpath(),
        jvm_options=quick,
        **options,  # type: ignore[arg-type]
    )
    with local:
        yield local


def new_chroot() -> str:
    """A root that no other test of this session has."""
    return f"/test/{next(_chroots)}"


def freeze(server: Server) -> None:
    """SIGSTOP, in force when this returns: the kernel stops one thread after the other."""
    os.kill(server.pid, signal.SIGSTOP)
    threads = Path(f"/proc/{server.pid}/task")
    wait_for(lambda: all(_stopped(thread) for thread in threads.iterdir()), "the server to freeze")


def _stopped(thread: Path) -> bool:
    return (thread / "stat").read_text().rpartition(")")[2].split()[0] == "T"


def thaw(server: Server) -> None:
    """SIGCONT."""
    os.kill(server.pid, signal.SIGCONT)


async def connect(hosts: str, chroot: str = "", session_timeout_ms: int = 10_000) -> ZookeeperTree:
    """A session of its own."""
    return await open_tree(
        ZookeeperOptions(hosts, chroot, session_timeout_ms, connection_timeout_ms=15_000)
    )


async def end_session(tree: ZookeeperTree, hosts: str) -> None:
    """Ends a session as only its owner could, from another connection with its id and password."""
    from kazoo.client import KazooClient

    def close() -> None:
        thief = KazooClient(hosts, client_id=tree._client._kazoo.client_id)
        thief.start()
        thief.stop()
        thief.close()

    await asyncio.to_thread(close)
