"""A history survives its file, and the report on it can be read."""

from hypothesis import given
from hypothesis import strategies as some

from tests.checker.check import CHECKS, check
from tests.checker.cycles import components
from tests.checker.history import Outcome, dump, invoke_line, load
from tests.checker.notation import history
from tests.checker.test_writes import SOUND


def test_a_history_can_be_written_and_read() -> None:
    told = history(
        SOUND
        + """
        m  commit group=g generation=1 positions=t/0:5 client=2
        o  watermarks watermarks=t/0:0/3/5/6/1 node=3
    """
    )
    assert load(dump(told)) == told


def test_whoever_was_killed_leaves_an_unknown_outcome() -> None:
    [begun] = history("w  send +a@0")
    [operation] = load([invoke_line(begun)])
    assert operation.outcome is Outcome.UNKNOWN
    assert not operation.before(history("w  send +b@1 at=900-901")[0])


def test_the_report_names_what_is_broken_with_examples() -> None:
    text = "\n".join(f"w  send +a{n}@{n // 2}" for n in range(40))
    report = check(history(text))
    lines = str(report).splitlines()
    assert lines[0] == "40 operations, broken: inconsistent-offsets, nonmonotonic-send"
    assert "inconsistent-offsets: 20" in lines
    assert sum("t/0@" in line for line in lines) == 8
    assert report.as_json()["counts"]["inconsistent-offsets"] == 20


def test_every_row_of_the_specification_has_a_check() -> None:
    rows = {each.row for each in CHECKS}
    assert rows >= {*map(str, range(1, 14)), "X1", "X2", "X3", "X4"}


GRAPHS = some.dictionaries(some.sampled_from("abcdefg"), some.sets(some.sampled_from("abcdefg")))


@given(GRAPHS)
def test_a_circle_is_where_each_leads_to_each(graph: dict[str, set[str]]) -> None:
    def reachable(node: str) -> set[str]:
        found: set[str] = set()
        waiting = [node]
        while waiting:
            for each in graph.get(waiting.pop(), ()):
                if each not in found:
                    found.add(each)
                    waiting.append(each)
        return found

    reach = {node: reachable(node) for node in graph}
    circles = {
        frozenset(other for other in reach if other in reach[node] and node in reach[other])
        for node in reach
    }
    assert {frozenset(each) for each in components(graph)} == {c for c in circles if len(c) > 1}
