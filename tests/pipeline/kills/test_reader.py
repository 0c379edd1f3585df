"""What the reader beside the kills must notice, it notices."""

from tests.pipeline.kills.application import COPY, COUNT, Job
from tests.pipeline.kills.output import Given, batches, differences, expected
from tests.pipeline.kills.reader import Row, Shown, torn, unsteady

FIRST, SECOND = 7, 8
BATCH_OF = {"a": 0, "b": 0, "c": 1}


def rows(**offsets: int) -> dict[int, Row]:
    return {offset: Row(value, FIRST) for value, offset in offsets.items()}


def test_what_was_shown_once_is_there_in_the_end() -> None:
    shown = [Shown(0, 3, rows(a=0, b=1)), Shown(1, 3, rows(b=1))]
    assert not list(unsteady(shown, {0: "a", 1: "b"}))


def test_a_row_of_a_loser_that_was_shown_for_a_moment_is_a_flaw() -> None:
    [flaw] = unsteady([Shown(0, 3, rows(a=0, b=1))], {0: "a"})
    assert "which does not count, at 1" in flaw


def test_a_row_that_was_passed_over_is_a_flaw() -> None:
    [flaw] = unsteady([Shown(0, 3, rows(a=0))], {0: "a", 1: "b"})
    assert "no row at 1" in flaw


def test_a_batch_that_goes_on_behind_its_marker_is_torn() -> None:
    whole = [Shown(0, 5, rows(a=0, b=1, c=3), {2: FIRST, 4: FIRST})]
    assert not list(torn(whole, BATCH_OF))
    [flaw] = torn([Shown(0, 4, rows(a=0, b=2), {1: FIRST, 3: FIRST})], BATCH_OF)
    assert "batch 0 goes on to 2" in flaw


def test_the_marker_of_another_batch_may_come_in_between() -> None:
    late = {0: Row("a", FIRST), 1: Row("c", SECOND), 3: Row("c", SECOND)}
    assert not list(torn([Shown(0, 5, late, {2: FIRST, 4: SECOND})], BATCH_OF))


def test_a_count_is_expected_for_each_batch_that_has_rows_of_its_group() -> None:
    given = [Given("a-0", 0, 0), Given("b-1", 0, 1), Given("a-2", 1, 0)]
    batch_of = batches(given, {0: {"0": 1, "1": 0}, 1: {"0": 2, "1": 1}})
    assert batch_of == {"a-0": 0, "b-1": 1, "a-2": 1}
    assert expected(Job("out", COUNT), batch_of) == {"out": {"a=1": 0, "a=2": 1, "b=1": 1}}
    assert expected(Job("out", COPY), batch_of) == {"out": batch_of}


def test_rows_that_are_missing_or_there_twice_are_told() -> None:
    assert differences({"a": 0, "b": 0}, ["b", "b", "x"]) == [("a", 0), ("b", 2), ("x", 1)]
