"""Command blocks of the pages: what a reader would paste, and what becomes of it in the tests.

A fence in no language, in `sh` or in `python` is run, unless a comment on the line above it says otherwise:

    <!-- output -->             it shows what is printed, or how something is put together
    <!-- not run: REASON -->    it cannot be run here
    <!-- parsed -->             examples from --help: the parsers of the commands understand each line
    <!-- given: PYTHON -->      runs before it, for what the page has said in words
    <!-- until: TEXT -->        a program that goes on for ever; it is ended once it has printed that
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
COMMANDS = ("", "sh", "bash", "console", "python")
MARKS = ("output", "not run", "parsed", "given", "until")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"<!-- ([a-z ]+)(?:: (.*?))? -->\n\Z", re.DOTALL)


class Block(NamedTuple):
    """A fenced block, and its mark with what that says."""

    page: str
    line: int
    language: str
    text: str
    mark: str = ""
    says: str = ""

    @property
    def name(self) -> str:
        """PAGE:LINE of its fence."""
        return f"{self.page}:{self.line}"

    @property
    def is_test(self) -> bool:
        """Whether pytest runs it."""
        return self.language == "python" and "def test_" in self.text


def blocks() -> list[Block]:
    """Those of the README and of docs/, in their order."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [
        block for page in pages for block in read(str(page.relative_to(ROOT)), page.read_text())
    ]


def read(page: str, text: str) -> Iterator[Block]:
    """The command blocks of a page."""
    for fence in _FENCE.finditer(text):
        language, inside = fence.groups()
        if language in COMMANDS:
            before = text[: fence.start()]
            mark = _MARK.search(before)
            line = before.count("\n") + 1
            yield Block(page, line, language, inside, *(mark.groups("") if mark else ()))
