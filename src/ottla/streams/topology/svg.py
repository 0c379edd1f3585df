"""Pure: a picture of a topology: topics, operators and stores, in frames for sub-topologies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape

from ottla.streams.topology.node import Node
from ottla.streams.topology.physical import (
    Part,
    PhysicalSink,
    Processor,
    Source,
    groups_of,
    parts_of,
)

_WIDTH, _HEIGHT, _ACROSS, _DOWN, _EDGE = 300, 34, 340, 58, 20
_FILL = {"topic": "#fff3d6", "operator": "#e3eefc", "store": "#e2f4e3"}
_CORNER = {"topic": 17, "operator": 4, "store": 0}


@dataclass
class _Picture:
    """Boxes by name with their places, and arrows between them."""

    boxes: dict[str, tuple[int, int]] = field(default_factory=dict)
    shapes: list[str] = field(default_factory=list)
    arrows: list[tuple[str, str, bool]] = field(default_factory=list)
    right: int = 0

    def box(self, kind: str, name: str, text: str, x: int, y: int) -> None:
        """Draw a box; the whole text is shown when the pointer rests on it."""
        self.boxes[name] = (x, y)
        self.right = max(self.right, x + _WIDTH + _EDGE)
        short = text if len(text) <= 40 else f"{text[:19]}…{text[-20:]}"
        self.shapes.append(
            f'<g class="{kind}"><title>{escape(text)}</title><rect x="{x}" y="{y}" width="{_WIDTH}" '
            f'height="{_HEIGHT}" rx="{_CORNER[kind]}" fill="{_FILL[kind]}" stroke="#555"/>'
            f'<text x="{x + _WIDTH // 2}" y="{y + 22}">{escape(short)}</text></g>'
        )

    def text(self, height: int) -> str:
        """Return the SVG."""
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.right}" height="{height}" '
            'font-family="sans-serif" font-size="12" text-anchor="middle">',
            '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
            '<path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
        ]
        return "\n".join([*lines, *map(self._arrow, self.arrows), *self.shapes, "</svg>\n"])

    def _arrow(self, arrow: tuple[str, str, bool]) -> str:
        (x1, y1), (x2, y2) = self.boxes[arrow[0]], self.boxes[arrow[1]]
        dashes = ' stroke-dasharray="4 3"' if arrow[2] else ""
        tip = "" if arrow[2] else ' marker-end="url(#tip)"'
        if x1 == x2:
            start, end = (x1 + _WIDTH // 2, y1 + _HEIGHT), (x2 + _WIDTH // 2, y2)
        else:
            start, end = (x1 + _WIDTH, y1 + _HEIGHT // 2), (x2, y2 + _HEIGHT // 2)
            if x2 < x1:
                start, end = (x1, start[1]), (x2 + _WIDTH, end[1])
        return f'<line x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}" stroke="#555"{dashes}{tip}/>'


def drawn(nodes: Iterable[Node]) -> str:
    """Return the picture as SVG: each sub-topology is a frame, read from left to right."""
    picture, top = _Picture(), _EDGE
    for index, group in enumerate(groups_of(parts_of(nodes))):
        top = _sub_topology(picture, index, group, top)
    return picture.text(top)


def _sub_topology(picture: _Picture, index: int, parts: tuple[Part, ...], top: int) -> int:
    columns = _columns(parts)
    rows: dict[int, int] = {}
    frame_at, first = len(picture.shapes), top + 30

    def place(kind: str, name: str, text: str, column: int) -> None:
        row = rows.get(column, 0)
        rows[column] = row + 1
        picture.box(kind, name, text, 2 * _EDGE + column * _ACROSS, first + row * _DOWN)

    for part in parts:
        column = columns[part.name]
        if isinstance(part, Source):
            place("topic", f"{index}:{part.topics}", part.topics.strip("[]"), 0)
            picture.arrows.append((f"{index}:{part.topics}", part.name, False))
        place("operator", part.name, part.name, column)
        if isinstance(part, PhysicalSink):
            place("topic", f"{part.name}:topic", part.topic.removeprefix("topic: "), column + 1)
            picture.arrows.append((part.name, f"{part.name}:topic", False))
        if not isinstance(part, Source):
            picture.arrows += [(parent, part.name, False) for parent in part.parents]
        for store in part.stores if isinstance(part, Processor) else ():
            if f"{index}:{store}" not in picture.boxes:
                place("store", f"{index}:{store}", store, column)
            picture.arrows.append((part.name, f"{index}:{store}", True))
    bottom = first + max(rows.values()) * _DOWN
    width = 2 * _EDGE + (max(rows) + 1) * _ACROSS
    picture.right = max(picture.right, width + 2 * _EDGE)
    picture.shapes.insert(
        frame_at,
        f'<rect x="{_EDGE}" y="{top}" width="{width}" height="{bottom - top}" fill="none" stroke="#bbb"/>'
        f'<text x="{_EDGE + 60}" y="{top + 18}">Sub-topology {index}</text>',
    )
    return bottom + _EDGE


def _columns(parts: tuple[Part, ...]) -> dict[str, int]:
    """How far each part is from the topics: sources are in column 1."""
    columns: dict[str, int] = {}
    for part in parts:
        above = () if isinstance(part, Source) else part.parents
        columns[part.name] = 1 + max((columns[name] for name in above), default=0)
    return columns
