"""Plans of new offsets, written as CSV and read back."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.base.ids import TopicPartition
from ottla.cli.kafka.options import Failed
from ottla.cli.kafka.reset_plan import exported, read_plan

NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=1, max_size=40)
PLANS = st.dictionaries(
    NAMES,
    st.dictionaries(
        st.builds(TopicPartition, NAMES, st.integers(0, 99)), st.integers(0, 2**60), min_size=1
    ),
)


@settings(max_examples=30)
@given(plan=PLANS)
def test_what_is_exported_can_be_read(
    plan: dict[str, dict[TopicPartition, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("plan") / "plan.csv"
    file.write_text(exported(plan, with_group=True))
    assert read_plan(str(file), None) == plan


def test_long_names_are_quoted_as_kafka_does() -> None:
    plan = {"g": {TopicPartition("a-topic-with-a-rather-long-name", 1): 2}}
    assert exported(plan, with_group=False) == '"a-topic-with-a-rather-long-name",1,2\n'


def test_lines_without_a_group_mean_the_one_that_was_named(tmp_path: Path) -> None:
    file = tmp_path / "plan.csv"
    file.write_text('t,0,5\n\n"u",1,6\nother,t,0,7\n')
    assert read_plan(str(file), "g") == {
        "g": {TopicPartition("t", 0): 5, TopicPartition("u", 1): 6},
        "other": {TopicPartition("t", 0): 7},
    }


@pytest.mark.parametrize("line", ["nonsense", "t,x,1", "t,1", "a,b,c,d,e", "t,0,5"])
def test_a_line_that_is_no_plan_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "plan.csv"
    file.write_text(f"g,t,0,1\n{line}\n")
    with pytest.raises(Failed, match=f"plan.csv, line 2: '{line}' is not of the form"):
        read_plan(str(file), None)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(Failed, match=r"Unable to read file missing\.csv"):
        read_plan("missing.csv", "g")
