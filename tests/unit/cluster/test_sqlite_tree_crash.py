"""kill -9 of a process that writes leaves whole multis only, and none that was answered is lost."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

from ottla.cluster.sqlite_tree import open_tree

WRITER = """
import asyncio, sys
from pathlib import Path
from ottla.cluster.sqlite_tree import open_tree
from ottla.cluster.tree import Create

async def write():
    tree = open_tree(Path(sys.argv[1]))
    first = int(sys.argv[2])

    async def topic(n):
        await tree.multi([Create(f"/t{n}"), *(Create(f"/t{n}/{p}", b"x" * 50) for p in range(30))])
        print(n, flush=True)

    for n in range(first, first + 100_000, 4):
        await asyncio.gather(*map(topic, range(n, n + 4)))

asyncio.run(write())
"""


def answered_before_kill(path: Path, first: int, wanted: int) -> list[int]:
    """Lets a process write topics until some were answered, kills it, and returns all that were."""
    command = [sys.executable, "-c", WRITER, str(path), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(wanted)]
        writer.send_signal(signal.SIGKILL)
        lines += writer.stdout.readlines()
    return [int(line) for line in lines if line.endswith("\n")]


async def topics_of(path: Path) -> dict[int, int]:
    """Each topic in the tree with the number of its children."""
    tree = open_tree(path)
    names = await tree.children("/")
    found = {int(name[1:]): len(await tree.children(f"/{name}")) for name in names}
    await tree.close()
    return found


def test_a_killed_writer_leaves_whole_multis_and_all_that_was_answered(tmp_path: Path) -> None:
    path = tmp_path / "tree"
    answered: list[int] = []
    for attempt, wanted in enumerate((1, 7, 30, 77)):
        answered += answered_before_kill(path, attempt * 100_000, wanted)
        found = asyncio.run(topics_of(path))
        assert set(answered) <= set(found)
        assert set(found.values()) == {30}
