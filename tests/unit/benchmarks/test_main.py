"""The options of the benchmark command, and the table of scenarios behind them."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import choose, parser, part_name, write
from benchmarks.machine import file_name
from benchmarks.results import Measured, Results
from benchmarks.scenarios import SCENARIOS, all_rows
from benchmarks.scenarios.scenario import CORES
from benchmarks.scenarios.spark import GROUP


def test_every_scenario_and_every_row_has_a_name_of_its_own() -> None:
    names = [scenario.name for scenario in SCENARIOS]
    rows = [row.name for row in all_rows()]

    assert len(set(names)) == len(names)
    assert len(set(rows)) == len(rows)


def test_only_the_named_scenarios_are_run() -> None:
    assert choose(None) == SCENARIOS
    assert [each.name for each in choose("latency, consume")] == ["latency", "consume"]
    assert [each.name for each in choose("ack-p50,ack-p99")] == ["latency"]


def test_a_part_can_be_run_alone_and_has_files_of_its_own() -> None:
    single, cores, cluster, spark = map(choose, ("single", "cores", "cluster", "spark"))
    assert single + cores + cluster + spark == SCENARIOS
    assert {row.group for each in cores for row in each.rows} == {CORES}
    assert {row.group for each in spark for row in each.rows} == {GROUP}
    assert {row.group.startswith("three brokers") for each in cluster for row in each.rows} == {
        True
    }
    assert choose("cluster,latency")[-1].name == "latency"
    assert file_name(quick=False, part=part_name("cluster")).endswith("-cores-cluster")
    assert file_name(quick=True, part=part_name("latency")).endswith("-cores-quick")


def test_an_unknown_scenario_is_named_in_the_error() -> None:
    with pytest.raises(SystemExit, match="no such row: produec"):
        choose("produec")


def test_leaving_out_both_brokers_is_refused() -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["--ottla-only", "--kafka-only"])


def test_results_are_written_as_json_plot_and_markdown(tmp_path: Path) -> None:
    results = Results(all_rows())
    results.add("ottla", Measured({"ack-p99": 0.5}))
    results.add("kafka", Measured({"ack-p99": 4.0}))

    write(results, tmp_path, "today")

    assert json.loads((tmp_path / "today.json").read_text())["rows"][0]["ratio"] == 0.125
    assert (tmp_path / "today.png").read_bytes().startswith(b"\x89PNG")
    assert "0.12x" in (tmp_path / "today.md").read_text()
