"""`python -m benchmarks`: compares ottla with Apache Kafka and writes what it found."""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.contestants import Ottla
from benchmarks.machine import facts, file_name
from benchmarks.plot import draw
from benchmarks.results import Results
from benchmarks.runner import Plan, Runner
from benchmarks.scenarios import SCENARIOS
from benchmarks.scenarios.scenario import Part, Scale, Scenario
from benchmarks.tables import markdown, summary, terminal_table
from tools import spark_jvm
from tools.apache_kafka import jars
from tools.maven import JarsUnavailable
from tools.probe import NotServing

REPOSITORY = Path(__file__).resolve().parent.parent
RESULTS = REPOSITORY / "benchmarks" / "results"


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    options = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    options.add_argument("--quick", action="store_true", help="one small run of everything")
    options.add_argument("--runs", type=int, help="runs of each scenario (default 5, quick 1)")
    options.add_argument(
        "--only",
        metavar="ROW,...",
        help="what to run: `single`, `cores`, `cluster`, `spark`, or rows; see --list",
    )
    options.add_argument("--list", action="store_true", help="show scenarios and rows, and leave")
    options.add_argument("--output", type=Path, default=RESULTS, help="where the files go")
    alone = options.add_mutually_exclusive_group()
    alone.add_argument("--ottla-only", action="store_true", help="leave Kafka out")
    alone.add_argument("--kafka-only", action="store_true", help="leave ottla out")
    return options


def choose(only: str | None) -> tuple[Scenario, ...]:
    """The scenarios that `--only` names, by their own name, that of a row or of a part, or all."""
    if only is None:
        return SCENARIOS
    names = [name.strip() for name in only.split(",")]
    by_name = {row.name: [scenario] for scenario in SCENARIOS for row in scenario.rows}
    by_name |= {scenario.name: [scenario] for scenario in SCENARIOS}
    for part in Part:
        by_name[part.value] = [scenario for scenario in SCENARIOS if scenario.part is part]
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise SystemExit(f"no such row: {', '.join(unknown)}; --list shows them")
    return tuple(dict.fromkeys(scenario for name in names for scenario in by_name[name]))


def part_name(only: str | None) -> str:
    """Names a part that is run alone, so that its files stand beside those of the other."""
    return only if only in [part.value for part in Part] else ""


def contestants(options: argparse.Namespace) -> tuple[str, ...]:
    """Who takes part; ends with a sentence if somebody cannot."""
    names = tuple(
        name
        for name, left_out in (("ottla", options.kafka_only), ("kafka", options.ottla_only))
        if not left_out
    )
    if "ottla" in names and not Ottla.program.exists():
        raise SystemExit("the ottla command is not installed here; run `make bench`")
    if "kafka" in names:
        try:
            jars()
            if any(scenario.part is Part.SPARK for scenario in choose(options.only)):
                spark_jvm.python()
                spark_jvm.jars()
        except JarsUnavailable as error:
            raise SystemExit(f"{error}\nor leave Kafka out with --ottla-only") from error
    return names


def allow_many_connections() -> None:
    """Raises the limit on open files, which brokers and clients inherit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def write(results: Results, output: Path, name: str) -> None:
    """Writes the JSON file, the plot and the Markdown fragment."""
    output.mkdir(parents=True, exist_ok=True)
    rows, about = results.measured(), facts()
    plot = output / f"{name}.png"
    document = {**about, "rows": [result.as_json() for result in rows]}
    (output / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n")
    (output / f"{name}.md").write_text(markdown(rows, about, f"benchmarks/results/{name}.png"))
    draw(rows, about, plot)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the comparison; the exit code tells whether every scenario could be measured."""
    options = parser().parse_args(arguments)
    if options.list:
        for scenario in SCENARIOS:
            print(f"{scenario.name}: {', '.join(row.name for row in scenario.rows)}")
        return 0
    names, scenarios = contestants(options), choose(options.only)
    allow_many_connections()
    cache = REPOSITORY / ".cache"
    cache.mkdir(exist_ok=True)
    data_dir = Path(tempfile.mkdtemp(prefix="bench-", dir=cache))
    runs = options.runs or (1 if options.quick else 5)
    runner = Runner(Plan(names, scenarios, runs, Scale(options.quick), data_dir))
    try:
        results = runner.run()
    except NotServing as error:
        raise SystemExit(str(error)) from error
    finally:
        shutil.rmtree(data_dir, ignore_errors=True)
    rows = results.measured()
    if not rows:
        return 1
    write(results, options.output, file_name(options.quick, part_name(options.only)))
    print(terminal_table(rows))
    if options.quick:
        print("a quick look: small, unwarmed runs, not to be quoted")
    print("\n".join([summary(rows), *runner.failures]))
    return 1 if runner.failures else 0


if __name__ == "__main__":
    sys.exit(main())
