"""What derives from a table is up to date, and what a document names exists."""

import re
from pathlib import Path

import pytest

from ottla._version import __version__
from ottla.broker.apis import APIS
from tools.render_docs import DOCS, PAGES

ROOT = Path(__file__).parents[2]


@pytest.mark.interpreted
@pytest.mark.parametrize("page", PAGES)
def test_generated_pages_are_up_to_date(page: str) -> None:
    assert (DOCS / f"{page}.md").read_text("utf-8") == PAGES[page](), "run make docs"


def test_the_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 150


def test_the_changelog_reads_as_release_notes() -> None:
    _, *releases = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    for release in releases:
        headings = re.findall(r"^### (.*)$", release, re.MULTILINE)
        assert len(headings) == len(set(headings)), "one section of a kind"
    first = releases[-1]
    assert first.startswith(f"{__version__} - ") or __version__ != "0.1.0"
    assert "### Fixed" not in first, "what was wrong before the first release, nobody has met"


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "README.md", "CONTRIBUTING.md"])
def test_every_file_that_a_document_names_exists(document: str) -> None:
    text = (ROOT / document).read_text()
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|md))`", text)
    missing = [n for n in named if not any((b / n).exists() for b in (ROOT, ROOT / "src/ottla"))]
    assert not missing


def test_every_api_has_its_handler_its_table_and_its_test() -> None:
    for api in APIS:
        snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", api.name).lower()
        for path in (
            f"src/ottla/broker/handlers/{snake}.py",
            f"src/ottla/protocol/apis/{snake}.py",
            f"tests/unit/broker/handlers/test_{snake}.py",
        ):
            assert (ROOT / path).exists(), path
