"""Pure: the help of a command: two columns of 80 characters, as Kafka's tools lay it out."""

from __future__ import annotations

from collections.abc import Iterator

from ottla.cli.kafka.options import Command, Option

_WIDTH = 80
_GAP = 2
_INDENT = "  "


def usage(command: Command) -> str:
    """Every option with what it does, sorted by name."""
    rows = [(_title(row), _help(row)) for row in sorted(command.options)]
    left = min((_WIDTH - _GAP) // 2, max(len(title) for title, _ in rows))
    right = _WIDTH - _GAP - left
    lines = [_line("Option", "Description", left, right), _line("------", "-" * 11, left, right)]
    for title, text in rows:
        titles, texts = list(_wrapped(title, left)), list(_wrapped(text, right))
        height = max(len(titles), len(texts))
        lines.extend(_line(_at(titles, n), _at(texts, n), left, right) for n in range(height))
    return "\n".join(lines)


def _title(row: Option) -> str:
    if not row.value:
        return f"--{row.name}"
    opened, closed = "[]" if row.value_may_be_missing else "<>"
    return f"--{row.name} {opened}{row.value}{closed}"


def _help(row: Option) -> str:
    return row.help if isinstance(row.help, str) else row.help()


def _line(left_text: str, right_text: str, left: int, right: int) -> str:
    return left_text.ljust(left + _GAP) + right_text.ljust(right)


def _at(lines: list[str], number: int) -> str:
    return lines[number] if number < len(lines) else ""


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Lines of at most `width` characters; those that go on a paragraph are indented."""
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            if line.strip() and len(line) + 1 + len(word) > width:
                yield line
                line = _INDENT + word
            else:
                line = f"{line} {word}" if line else word
        yield line
