"""Lag, from what Spark reports of a query's progress."""

from types import SimpleNamespace
from typing import Any

from ottla.base.ids import TopicPartition
from ottla.pipeline import lag
from ottla.pipeline.group_commits import group_of
from ottla.pipeline.source_options import read_source_options


def query(*sources: dict[str, Any]) -> Any:
    return SimpleNamespace(lastProgress={"sources": list(sources)})


def source(end: str | None, latest: str | None) -> dict[str, Any]:
    return {"endOffset": end, "latestOffset": latest}


def test_before_the_first_report_nothing_is_known() -> None:
    assert lag(SimpleNamespace(lastProgress=None)) is None  # type: ignore[arg-type]


def test_lag_is_what_lies_between_a_batch_and_the_end_of_its_topics() -> None:
    found = lag(query(source('{"t":{"0":5,"1":7}}', '{"t":{"0":9,"1":7}}')))
    assert found is not None
    assert found.total == 4
    assert found.partitions == {TopicPartition("t", 0): 4, TopicPartition("t", 1): 0}


def test_sources_of_another_sort_do_not_count() -> None:
    found = lag(
        query(source("3", "5"), source(None, None), source('{"t":{"0":1}}', '{"t":{"0":3}}'))
    )
    assert found is not None
    assert found.total == 2


def test_a_group_is_named_as_asked_for_and_else_by_what_is_read() -> None:
    def group(**options: str) -> str:
        common = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "t"}
        return group_of(read_source_options(common | options))

    assert group(**{"kafka.group.id": "mine"}) == "mine"
    assert group() == group() != group(subscribe="u")
    assert group(groupIdPrefix="team").startswith("team-")
