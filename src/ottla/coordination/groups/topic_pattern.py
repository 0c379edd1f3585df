"""Pure: which topics a pattern matches, in time proportional to the length of their names, whatever the pattern.

Kafka reads patterns with RE2/J, which never tracks back. Python's `re` does, and a pattern such as `(a+)+b` would hold
the broker for years; so patterns are run here as RE2 runs them: all ways through a pattern are followed at once, and
each set of ways that comes up is remembered, so that a character usually costs one look into a dictionary.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from ottla.coordination.groups.pattern_syntax import (
    WORD,
    BadPattern,
    Check,
    Choice,
    Node,
    Repeat,
    Row,
    Take,
    parse,
)

__all__ = ["BadPattern", "TopicPattern"]

# Beyond this many remembered sets all are forgotten: memory stays bounded, and the time linear.
_MAX_STATES: Final = 2000
# So many instructions are looked at, once for each way that comes up, before a pattern is given up: some 50 ms.
_BUDGET: Final = 200_000


class _Split(NamedTuple):
    """Goes on at several places at once."""

    targets: tuple[int, ...]


class _Where(NamedTuple):
    """What may be asked about a position between two characters."""

    at_start: bool
    after_word: bool


class _State:
    """A set of ways through the pattern, and where a character leads from it."""

    __slots__ = ("accepts", "next", "positions", "where")

    def __init__(self, positions: frozenset[int], where: _Where) -> None:
        self.positions = positions
        self.where = where
        self.next: dict[str, _State] = {}
        self.accepts: bool | None = None


class TopicPattern:
    """A compiled pattern; it matches whole names only, of as many as its budget lasts for."""

    def __init__(self, pattern: str) -> None:
        """BadPattern where RE2 would not read it."""
        self.pattern = pattern
        # (what it does, where it goes on); the last one accepts.
        self._program: list[tuple[Take | Check | _Split, int]] = []
        self._emit(parse(pattern))
        self._end = len(self._program)
        self._states: dict[tuple[frozenset[int], _Where], _State] = {}
        self._start = (frozenset({0}), _Where(at_start=True, after_word=False))
        self._left = _BUDGET

    def matching(self, names: Iterable[str]) -> frozenset[str]:
        """Those of `names` that it matches; BadPattern if that takes too long."""
        return frozenset(name for name in names if self.matches(name))

    def matches(self, name: str) -> bool:
        """Whether it matches the whole of `name`; BadPattern if all names together take too long."""
        state = self._state(*self._start)
        for character in name:
            found = state.next.get(character)
            if found is None:
                found = state.next[character] = self._step(state, character)
            if not found.positions:
                return False
            state = found
        if state.accepts is None:
            state.accepts = self._end in self._reached(state, None)
        return state.accepts

    def _state(self, positions: frozenset[int], where: _Where) -> _State:
        key = (positions, where)
        state = self._states.get(key)
        if state is None:
            if len(self._states) >= _MAX_STATES:
                for forgotten in self._states.values():
                    forgotten.next = {}
                self._states = {}
            state = self._states[key] = _State(positions, where)
        return state

    def _step(self, state: _State, character: str) -> _State:
        bit = 1 << ord(character) if ord(character) < 128 else 0
        reached = set()
        for at in self._reached(state, character):
            if at < self._end:
                what, target = self._program[at]
                if isinstance(what, Take) and what.mask & bit:
                    reached.add(target)
        where = _Where(at_start=False, after_word=bool(WORD & bit))
        return self._state(frozenset(reached), where)

    def _reached(self, state: _State, following: str | None) -> set[int]:
        """Every instruction that can be had from a set without taking a character."""
        seen, ahead = set(state.positions), list(state.positions)
        while ahead:
            at = ahead.pop()
            if at == self._end:
                continue
            what, target = self._program[at]
            if isinstance(what, _Split):
                reached: tuple[int, ...] = what.targets
            elif isinstance(what, Check) and _holds(what.what, state.where, following):
                reached = (target,)
            else:
                continue
            ahead += [n for n in reached if n not in seen]
            seen.update(reached)
        self._left -= len(seen)
        if self._left < 0:
            raise BadPattern("it takes too long to match; use fewer or shorter repetitions")
        return seen

    def _emit(self, node: Node) -> None:
        """Append the instructions of a part; they go on with whatever is appended next."""
        if isinstance(node, Take | Check):
            self._program.append((node, len(self._program) + 1))
        elif isinstance(node, Row):
            for item in node.items:
                self._emit(item)
        elif isinstance(node, Choice):
            self._emit_choice(node)
        else:
            self._emit_repeat(node)

    def _emit_choice(self, node: Choice) -> None:
        program = self._program
        split = self._reserve()
        starts, ends = [], []
        for item in node.items:
            starts.append(len(program))
            self._emit(item)
            ends.append(self._reserve())
        program[split] = (_Split(tuple(starts)), 0)
        for end in ends:
            program[end] = (_Split((len(program),)), 0)

    def _emit_repeat(self, node: Repeat) -> None:
        program = self._program
        for _ in range(node.least):
            self._emit(node.item)
        if node.most is None:
            loop = self._reserve()
            self._emit(node.item)
            program.append((_Split((loop,)), 0))
            program[loop] = (_Split((loop + 1, len(program))), 0)
            return
        splits = []
        for _ in range(node.most - node.least):
            splits.append(self._reserve())
            self._emit(node.item)
        for split in splits:
            program[split] = (_Split((split + 1, len(program))), 0)

    def _reserve(self) -> int:
        self._program.append((_Split(()), 0))
        return len(self._program) - 1


def _holds(what: str, where: _Where, following: str | None) -> bool:
    """Whether a condition holds between the character before and the one that follows."""
    if what == "^":
        return where.at_start
    if what == "$":
        return following is None
    if what in ("^m", "$m"):  # topics have one line
        return where.at_start if what == "^m" else following is None
    before_word = (
        following is not None and ord(following) < 128 and bool(WORD >> ord(following) & 1)
    )
    return (where.after_word != before_word) == (what == "b")
