"""Pure: the circles in a graph of who follows whom (Tarjan's algorithm, without recursion)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping


def components(graph: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """The strongly connected components of more than one node: in each, everybody leads to everybody."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    waiting: set[str] = set()
    found: list[set[str]] = []

    def enter(node: str) -> tuple[str, Iterator[str]]:
        index[node] = low[node] = len(index)
        stack.append(node)
        waiting.add(node)
        return node, iter(graph.get(node, ()))

    def leave(node: str) -> None:
        if low[node] != index[node]:
            return
        component: set[str] = set()
        while node not in component:
            component.add(stack.pop())
        waiting.difference_update(component)
        if len(component) > 1:
            found.append(component)

    for root in graph:
        path = [enter(root)] if root not in index else []
        while path:
            node, following = path[-1]
            for each in following:
                if each not in index:
                    path.append(enter(each))
                    break
                if each in waiting:
                    low[node] = min(low[node], index[each])
            else:
                path.pop()
                leave(node)
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
    return found
