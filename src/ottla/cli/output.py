"""How results are printed: tables for people, JSON and CSV for programs.

A table needs no library: widths, a bold head and a bar are all that is asked for, and a command that
waits for one feels slow.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Self, TextIO, TypeAlias

from ottla.base.progress import is_terminal

Row: TypeAlias = Mapping[str, Any]

FORMATS: Final = ("table", "json", "ndjson", "csv")
_STYLES: Final = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "dim": "2"}
_NOTHING: Final = "-"


def add_output_argument(parser: argparse.ArgumentParser) -> None:
    """-o, which every command that shows something has."""
    parser.add_argument(
        "-o",
        "--output",
        choices=FORMATS,
        default="table",
        help="how to print the result (default: table)",
    )


def show(rows: Iterable[Row], output: str, *, nothing: str = "") -> None:
    """Print rows that all have the same keys; `nothing` is said to a person where there are none."""
    writer = RowWriter(output)
    for row in rows:
        writer.write(row)
    writer.close()
    if not writer.count and nothing and output == "table":
        sys.stdout.flush()
        print(nothing, file=sys.stderr)


def show_one(row: Row, output: str) -> None:
    """Print one thing: its properties below one another, or as a JSON object."""
    if output == "csv":
        show([row], output)
    elif output == "table":
        width = max(len(_title(key)) for key in row)
        for key, value in row.items():
            print(f"{paint(_title(key).ljust(width), 'bold')}  {_cell(value)}")
    else:
        print(_json(row, indent=2 if output == "json" else None))


class RowWriter:
    """Prints rows one by one: a table when all are there, everything else at once."""

    def __init__(self, output: str, to: TextIO | None = None) -> None:
        self._output = output
        self._to = sys.stdout if to is None else to
        self._rows: list[Row] = []
        self._csv: Any = None
        self.count = 0

    def write(self, row: Row) -> None:
        """One more row."""
        self.count += 1
        if self._output == "table":
            self._rows.append(row)
        elif self._output == "csv":
            self._write_csv(row)
        elif self._output == "ndjson":
            self._to.write(_json(row) + "\n")
        else:
            self._to.write(("[\n" if self.count == 1 else ",\n") + _json(row))

    def close(self) -> None:
        """There will be no more."""
        if self._output == "json":
            self._to.write("\n]\n" if self.count else "[]\n")
        elif self._rows:
            self._to.write("\n".join(table(self._rows)) + "\n")

    def _write_csv(self, row: Row) -> None:
        import csv

        if self._csv is None:
            self._csv = csv.writer(self._to, lineterminator="\n")
            self._csv.writerow(row)
        self._csv.writerow(["" if each is None else _cell(each) for each in row.values()])


class Report:
    """Tells what was done, one thing after the other: a sentence for people, a row for programs."""

    def __init__(self, output: str) -> None:
        self._rows = None if output == "table" else RowWriter(output)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._rows is not None:
            self._rows.close()

    def tell(self, sentence: str, **row: Any) -> None:
        """One thing was done."""
        if self._rows is None:
            print(sentence)
        else:
            self._rows.write(row)


def table(rows: Sequence[Row]) -> list[str]:
    """The lines of a table: titles above columns, numbers to the right."""
    keys = list(rows[0])
    cells = [[_cell(row[key]) for key in keys] for row in rows]
    right = [all(_is_number(row[key]) for row in rows) for key in keys]
    widths = [max(len(_title(key)), *(len(row[n]) for row in cells)) for n, key in enumerate(keys)]
    head = paint(_line([_title(key) for key in keys], widths, right), "bold")
    return [head, *(_line(row, widths, right) for row in cells)]


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = (
        cell.rjust(width) if to_right else cell.ljust(width)
        for cell, width, to_right in zip(cells, widths, right, strict=True)
    )
    return "  ".join(padded).rstrip()


def _title(key: str) -> str:
    return key.replace("_", " ").upper()


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _cell(value: Any) -> str:
    if value is None:
        return _NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, list | tuple):
        return ",".join(map(_cell, value)) or _NOTHING
    if isinstance(value, dict):
        return ",".join(f"{key}={_cell(each)}" for key, each in value.items()) or _NOTHING
    return str(value)


def _json(value: Any, indent: int | None = None) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, indent=indent)


def paint(text: str, style: str, to: TextIO | None = None) -> str:
    """The text in a style, where it goes to a terminal whose user has not asked for plain text."""
    if not is_terminal(sys.stdout if to is None else to) or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"
