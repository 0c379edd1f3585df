"""The end of a run says where its time went."""

import subprocess
import sys
from pathlib import Path

from tests.support.times import Clock, Spent, budgets, page

WORK = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\n"


def test_directories_are_summed_up_beside_their_budgets() -> None:
    spent = [
        Spent("tests/unit/a/test_b.py::test_c", 1.0, 2.0),
        Spent("tests/unit/test_d.py::test_e[x::y]", 0.5, 0.5),
        Spent("tests/crash/test_f.py::test_g", 3.0, 9.0),
    ]
    lines = [line.split() for line in page(spent, 1.0, ["seed 7"], {"tests/unit": 60})]
    assert lines[1] == ["3.0", "9.0", "1", "tests/crash"]
    assert lines[2] == ["1.5", "60", "2.5", "2", "tests/unit"]
    assert lines[4] == ["5.5", "60", "11.5", "3", "together"]
    assert lines[6] == ["3.0", "9.0", "tests/crash/test_f.py::test_g"]
    assert lines[-1] == ["seed", "7"]


def test_what_a_child_works_is_counted_while_it_lives_and_once_when_it_has_ended() -> None:
    clock = Clock()
    command = [sys.executable, "-S", "-c", WORK + "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert clock.lap(look_below=True) >= 0.25
        child.communicate(b"\n")
    assert clock.lap(look_below=True) < 0.2


def test_a_table_row_is_a_budget(tmp_path: Path) -> None:
    table = tmp_path / "page.md"
    table.write_text("| directory | s |\n|---|---|\n| `tests/unit` | 180 | much |\n")
    assert budgets(table) == {"tests/unit": 180}
