"""`python -m tests.faults.page`: writes docs/faults.md anew from the runs that tests/faults/report.json tells of."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.faults.catalogue import BY_NAME
from tests.faults.tally import Tally, load, table, total

ROOT: Final = Path(__file__).resolve().parents[2]
REPORT: Final = ROOT / "tests" / "faults" / "report.json"
PAGE: Final = ROOT / "docs" / "faults.md"
TEXT: Final = Path(__file__).with_name("page.md")
MACHINE: Final = "2 cores, 24 GiB"


def days(tally: Tally) -> str:
    """When the runs were made."""
    dates = sorted({each.date for results in tally.values() for each in results if each.date})
    return " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else "never"


def render(tally: Tally) -> str:
    """The page."""
    report = f"{days(tally)}, {MACHINE}: {total(tally)}.\n\n{table(tally)}"
    return TEXT.read_text().replace("{report}", report)


if __name__ == "__main__":
    PAGE.write_text(render(load(REPORT, BY_NAME)))
    print(f"written: {PAGE.relative_to(ROOT)}")
