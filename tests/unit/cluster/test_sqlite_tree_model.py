"""The embedded tree does what a plain dict would, also across restarts."""

import asyncio
import tempfile
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ottla.cluster.sqlite_tree import SqliteTree, open_tree
from ottla.cluster.tree import Check, Create, Delete, MultiFailed, Op, Set

T = TypeVar("T")

NAMES = ("a", "b")
PATHS = [f"/{x}" for x in NAMES]
PATHS += [f"{p}/{x}" for p in PATHS for x in NAMES]
PATHS += [f"{p}/{x}" for p in PATHS[2:] for x in NAMES]

paths = st.sampled_from(PATHS)
versions = st.sampled_from([-1, -1, 0, 1, 2])
data = st.binary(max_size=3)
ops = st.one_of(
    st.builds(Create, paths, data, st.booleans(), st.just(False)),
    st.builds(Set, paths, data, versions),
    st.builds(Delete, paths, versions),
    st.builds(Check, paths, versions),
)


@dataclass
class Held:
    """What the model knows of a node."""

    data: bytes
    version: int = 0
    ephemeral: bool = False


Model = dict[str, Held]


def apply(model: Model, op: Op) -> str | None:
    """Applies one operation to the model; returns the name of the error it meets."""
    held = model.get(op.path)
    parent = op.path.rpartition("/")[0]
    if isinstance(op, Create):
        if parent and parent not in model:
            return "NoNode"
        if parent and model[parent].ephemeral:
            return "EphemeralParent"
        if held is not None:
            return "NodeExists"
        model[op.path] = Held(op.data, ephemeral=op.ephemeral)
        return None
    if held is None:
        return "NoNode"
    if op.version not in (-1, held.version):
        return "BadVersion"
    if isinstance(op, Set):
        model[op.path] = Held(op.data, held.version + 1, held.ephemeral)
    if isinstance(op, Delete):
        if any(path.startswith(f"{op.path}/") for path in model):
            return "NotEmpty"
        del model[op.path]
    return None


def apply_all(model: Model, ops: list[Op]) -> tuple[Model, tuple[int, str] | None]:
    """Applies a multi to a copy of the model; on an error the model stays as it was."""
    after = dict(model)
    for index, op in enumerate(ops):
        error = apply(after, op)
        if error is not None:
            return model, (index, error)
    return after, None


class TreeMachine(RuleBasedStateMachine):
    """Multis, alone and at once, and restarts, against the model."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.directory = tempfile.TemporaryDirectory()
        self.model: Model = {}
        self.tree: SqliteTree = open_tree(self.path)
        self.last_zxid = 0

    @property
    def path(self) -> Path:
        return Path(self.directory.name) / "tree"

    def wait(self, awaitable: Awaitable[T]) -> T:
        async def run() -> T:
            return await awaitable

        return self.loop.run_until_complete(run())

    @rule(batch=st.lists(st.lists(ops, min_size=1, max_size=5), min_size=1, max_size=3))
    def multis_at_once(self, batch: list[list[Op]]) -> None:
        async def run() -> list[object]:
            return list(await asyncio.gather(*map(self.tree.multi, batch), return_exceptions=True))

        for ops, outcome in zip(batch, self.wait(run()), strict=True):
            self.model, expected = apply_all(self.model, ops)
            if expected is None:
                assert outcome == [op.path for op in ops]
            else:
                assert isinstance(outcome, MultiFailed)
                assert (outcome.index, type(outcome.error).__name__) == expected

    @rule()
    def restart(self) -> None:
        self.wait(self.tree.close())
        self.tree = open_tree(self.path)
        self.model = {path: held for path, held in self.model.items() if not held.ephemeral}

    @invariant()
    def tree_equals_model(self) -> None:
        for path in PATHS:
            held, stat = self.model.get(path), self.wait(self.tree.exists(path))
            assert (stat is None) == (held is None)
            if held is not None and stat is not None:
                assert self.wait(self.tree.get(path)) == (held.data, stat)
                assert (stat.version, stat.ephemeral_owner != 0) == (held.version, held.ephemeral)
                children = self.wait(self.tree.children(path))
                assert children == [n for n in NAMES if f"{path}/{n}" in self.model]

    def teardown(self) -> None:
        self.wait(self.tree.close())
        self.loop.close()
        self.directory.cleanup()


TreeMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
test_tree_equals_a_plain_dict = TreeMachine.TestCase
