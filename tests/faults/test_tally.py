"""A report on faults that several invocations add to, until every fault has run often enough."""

from pathlib import Path

from tests.faults.one import Result
from tests.faults.tally import Tally, broken, load, save, still_to_run, table

NAMES = ("kill", "pause")
GOOD = Result(0, "2026-01-31", valid=True, strikes=2, operations=100, seconds=9.5, report="long")


def test_what_is_kept_is_found_again(tmp_path: Path) -> None:
    tally = load(tmp_path / "report.json", NAMES)
    assert tally == {"kill": [], "pause": []}
    tally["kill"].append(GOOD)
    save(tmp_path / "report.json", tally)
    [kept] = load(tmp_path / "report.json", NAMES)["kill"]
    assert (kept.seed, kept.date, kept.operations) == (0, "2026-01-31", 100)


def test_only_what_is_missing_runs_and_with_seeds_of_its_own() -> None:
    short = Result(1, valid=True, operations=10)
    tally: Tally = {"kill": [GOOD, short], "pause": []}
    todo = list(still_to_run(tally, runs=2, operations=50, seed=0))
    assert todo == [("kill", 2), ("pause", 0), ("pause", 1)]


def test_a_table_tells_what_ran_how_often_and_for_how_long() -> None:
    tally: Tally = {"kill": [GOOD, GOOD], "pause": [Result(0, failure="it hangs")], "cut": []}
    kill, pause, cut = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in table(tally).splitlines()[2:]
    )
    assert kill == ["kill", "2", "4", "200", "19", "0.0", "0"]
    assert pause[-1] == "BROKEN"
    assert cut[-1] == "not run"
    assert broken(tally) == ["pause"]
