"""Pure: BranchedKStream: a stream that is divided by predicates."""

from __future__ import annotations

from typing import Any

from ottla.streams.dsl.functions import predicate
from ottla.streams.dsl.kstream import KStream
from ottla.streams.errors import TopologyError
from ottla.streams.topology.functions import Function
from ottla.streams.topology.stateless import Branch, Split


class BranchedKStream:
    """What `split()` makes: branches in order, of which a record takes the first whose predicate is true of it.

    The names in what `default_branch()` and `no_default_branch()` return are the split's name and the
    branch's: `split("by-size-").branch(large, "large")` makes "by-size-large". Unnamed branches are numbered
    from 1; the default one is 0.
    """

    def __init__(self, stream: KStream, name: str) -> None:
        self._stream = stream
        self._name = name
        self._predicates: list[Function] = []
        self._branches: list[str] = []
        self._done = False

    def branch(self, predicate_: Any, name: str | None = None) -> BranchedKStream:
        """Add a branch for records of which predicate(key, value) is true."""
        self._check_open()
        self._predicates.append(predicate(predicate_, self._stream.node, self._name))
        self._stream.graph.new_name("")  # Kafka Streams counts branches too
        self._branches.append(self._name + (str(len(self._predicates)) if name is None else name))
        return self

    def default_branch(self, name: str | None = None) -> dict[str, KStream]:
        """Add a branch for all other records, and return all branches by name."""
        self._check_open()
        self._stream.graph.new_name("")
        return self._finish(self._name + ("0" if name is None else name))

    def no_default_branch(self) -> dict[str, KStream]:
        """Drop all other records, and return all branches by name."""
        self._check_open()
        return self._finish(None)

    def _check_open(self) -> None:
        if self._done:
            raise TopologyError(f"{self._name}: has all its branches already: call split() again")

    def _finish(self, default: str | None) -> dict[str, KStream]:
        self._done = True
        stream = self._stream
        if not self._predicates:
            raise TopologyError(f"{self._name}: a split needs at least one branch(predicate)")
        split = stream._add(
            Split, self._name, predicates=tuple(self._predicates), branches=tuple(self._branches),
            default_branch=default,
        )  # fmt: skip
        names = [*self._branches, *([] if default is None else [default])]
        return {
            name: stream._next(stream._add(Branch, name, parents=(split,), index=index))
            for index, name in enumerate(names)
        }
