"""`make conformance`: librdkafka's own tests against a broker made for them, compared with Apache Kafka's results."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.conformance.suite import PASSED, Suite
from tests.conformance.verdict import chosen, judge, number
from tests.support.broker import OttlaBroker
from tools.apache_kafka import ApacheKafka
from tools.building import BuildFailed
from tools.librdkafka import CACHE, VERSION, built_runner

EXPECTED = Path(__file__).with_name("librdkafka_2_12_1_on_kafka_4_3.txt")
SETTINGS = {"num.partitions": "4", "group.initial.rebalance.delay.ms": "0"}
LOG = CACHE.with_name(f"{CACHE.name}.log")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tests and returns 0 if all passed that pass on Apache Kafka."""
    options = _options().parse_args(arguments)
    print(f"librdkafka {VERSION}: getting and building its tests, unless that is done ...")
    try:
        built_runner()
    except BuildFailed as reason:
        print(reason, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="conformance-") as directory:
        return _conforms(options.against, options.numbers, Path(directory))


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(prog="make conformance")
    options.add_argument("numbers", nargs="*", help="tests by number, such as 0118; default: all")
    options.add_argument("--against", choices=("ottla", "kafka"), default="ottla")
    return options


def _conforms(against: str, numbers: Sequence[str], directory: Path) -> int:
    expected = chosen(EXPECTED.read_text().split(), numbers)
    LOG.unlink(missing_ok=True)
    print(f"{len(expected)} tests against {against}; what they print goes to {LOG}")
    began = time.monotonic()
    with _broker(against, directory) as bootstrap:
        suite = Suite(bootstrap, directory, LOG)
        states = suite.run(numbers, ended=_progress(expected))
        # A test may depend on which of two threads is faster, or on a machine with nothing else to do.
        failed = sorted({number(name) for name in expected if states.get(name) != PASSED})
        if failed:
            print(f"run again, alone: {' '.join(failed)}")
        alone = suite.run(failed, at_once=1, ended=_progress(expected)) if failed else {}
    verdict = judge(expected, states, alone)
    print("\n".join(verdict.lines()))
    print(f"{time.monotonic() - began:.0f} s")
    return 0 if verdict.conforms else 1


@contextmanager
def _broker(against: str, directory: Path) -> Iterator[str]:
    if against == "kafka":
        with ApacheKafka(directory / "data", properties=SETTINGS) as kafka:
            yield kafka.bootstrap
    else:
        with OttlaBroker(directory / "data", SETTINGS) as broker:
            yield f"127.0.0.1:{broker.port}"


def _progress(expected: Sequence[str]) -> Callable[[str, str], None]:
    """Prints a line for each of the expected tests that ends."""
    done: list[str] = []

    def ended(name: str, state: str) -> None:
        if name in expected:
            done.append(name)
            print(f"  [{len(done)}/{len(expected)}] {name} {state.lower()}", flush=True)

    return ended


if __name__ == "__main__":
    sys.exit(main())
