"""Operators of the test driver that look at one record alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ottla.streams.driver.message import Message
from ottla.streams.driver.operator import Operator
from ottla.streams.topology.functions import is_expression
from ottla.streams.topology.node import Node
from ottla.streams.topology.stateless import (
    Branch,
    Filter,
    FlatMap,
    FlatMapValues,
    Foreach,
    Map,
    MapValues,
    Peek,
    Print,
    SelectKey,
    Split,
)


def passes(verdict: Any, negated: bool, expression: bool) -> bool:
    """True if a record passes: an expression that is null passes neither filter nor filter_not."""
    if expression and verdict is None:
        return False
    return bool(verdict) != negated


class RunPassing(Operator[Node]):
    """Sources of streams, merges: hand on what comes."""

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        return [message]


class RunToStream(Operator[Node]):
    """The changes of a table as records."""

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        return [replace(message, old=None)]


class RunFilter(Operator[Filter]):
    """filter and filter_not."""

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        node = self.node
        verdict = self.key_value(node.predicate, message)
        return [message] if passes(verdict, node.negated, is_expression(node.predicate)) else []


class RunMap(Operator[Map]):
    """map."""

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        mapper = self.node.mapper
        if isinstance(mapper, tuple):
            key, value = (self.key_value(part, message) for part in mapper)
        else:
            key, value = self.key_value(mapper, message)
        return [replace(message, key=key, value=value)]


class RunMapValues(Operator[MapValues]):
    """map_values."""

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        value = self.mapped(self.node.mapper, self.node.with_key, message)
        return [replace(message, value=value)]


class RunFlatMap(Operator[FlatMap]):
    """flat_map."""

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        pairs = self.key_value(self.node.mapper, message)
        return [replace(message, key=key, value=value) for key, value in pairs]


class RunFlatMapValues(Operator[FlatMapValues]):
    """flat_map_values: an expression that is null makes no records."""

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        values = self.mapped(self.node.mapper, self.node.with_key, message)
        if values is None and is_expression(self.node.mapper):
            return []
        return [replace(message, value=value) for value in values]


class RunSelectKey(Operator[SelectKey]):
    """select_key."""

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        return [replace(message, key=self.key_value(self.node.selector, message))]


class RunSplit(Operator[Split]):
    """split: its children are the branches, of which each takes what is for it."""

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        self.chosen = next(
            (
                index
                for index, predicate in enumerate(self.node.predicates)
                if passes(self.key_value(predicate, message), False, is_expression(predicate))
            ),
            len(self.node.predicates),
        )
        return [message]


class RunBranch(Operator[Branch]):
    """One branch of a split."""

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        split = self.parent()
        assert isinstance(split, RunSplit)
        return [message] if split.chosen == self.node.index else []


class RunPeek(Operator[Peek | Foreach]):
    """peek and foreach."""

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        self.key_value(self.node.action, message)
        return [message]


class RunPrint(Operator[Print]):
    """print."""

    def handle(self, message: Message, side: int) -> Iterable[Message]:
        print(f"[{self.node.label}]: {message.key}, {message.value}")
        return []
