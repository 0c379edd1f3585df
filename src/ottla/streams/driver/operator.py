"""Base of the test driver's operators: one for each node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ottla.streams.driver.message import Message
from ottla.streams.driver.state import Entry
from ottla.streams.expressions.evaluate import evaluate
from ottla.streams.topology.functions import Function, is_expression, is_function
from ottla.streams.topology.node import Node

if TYPE_CHECKING:
    from ottla.streams.driver.run import Run

NodeT = TypeVar("NodeT", bound=Node)


class Operator(Generic[NodeT]):
    """Handles what its node's parents hand on; `handle` returns what goes to the children.

    What `handle` raises is decided by the node's `on_error`, for the record alone that raised.
    """

    def __init__(self, node: NodeT, run: Run) -> None:
        self.node = node
        self.run = run
        self.children: list[tuple[Operator[Any], int]] = []
        self.sends_old = False
        """True if changes carry the value before: asked for by children, costs a store."""

    def receive(self, message: Message, side: int = 0) -> None:
        """Handle a message of the parent with this index, and hand on what comes of it."""
        try:
            results = list(self.handle(message, side))
        except Exception as error:
            self.run.failed(self.node, error)
            return
        self.forward(results)

    def forward(self, results: Iterable[Message]) -> None:
        """Give results to all children, one result after the other."""
        for result in results:
            for child, side in self.children:
                child.receive(result, side)

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        """Return what goes to the children."""
        raise NotImplementedError

    def get(self, key: Any) -> Entry | None:
        """Tables: the row of a key, as it is now."""
        raise NotImplementedError

    def enable_old_values(self, force: bool) -> bool:
        """Tables: send old values if that is free, or if `force`; return whether they are sent."""
        raise NotImplementedError

    def materialize(self) -> None:
        """Tables: rows are looked up here, so that the table behind them needs a store."""

    def advance(self, now_ms: int) -> None:
        """The wall clock has moved."""

    def end_batch(self) -> None:
        """A batch has ended: hand on what was held back until then."""

    def close(self) -> None:
        """The driver is closed."""

    def parent(self, side: int = 0) -> Operator[Any]:
        """The operator of a parent."""
        return self.run.operators[self.node.parents[side]]

    def roots(self, message: Message) -> Mapping[str, Any]:
        """What expressions may read of a message."""
        origin = self.run.origin
        return {
            "key": message.key,
            "value": message.value,
            "timestamp": message.timestamp_ms,
            "headers": dict(message.headers),
            "topic": None if origin is None else origin.topic,
        }

    def key_value(self, function: Function, message: Message) -> Any:
        """Call a function of (key, value), or evaluate an expression."""
        if is_function(function):
            return function(message.key, message.value)
        assert is_expression(function)
        return evaluate(function, self.roots(message))

    def mapped(self, function: Function, with_key: bool, message: Message) -> Any:
        """Call a function of (value) or (key, value), or evaluate an expression."""
        if is_function(function) and not with_key:
            return function(message.value)
        return self.key_value(function, message)


def joined(
    function: Function, with_key: bool, key: Any, left: Any, right: Any, timestamp_ms: int
) -> Any:
    """Call a joiner, or evaluate its expression."""
    if is_function(function):
        return function(key, left, right) if with_key else function(left, right)
    assert is_expression(function)
    roots = {"key": key, "left": left, "right": right, "timestamp": timestamp_ms}
    return evaluate(function, roots)
