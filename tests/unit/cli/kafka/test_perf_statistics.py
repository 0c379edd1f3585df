"""What performance tests send, count and print."""

import re
from itertools import islice
from pathlib import Path

import pytest

from ottla.cli.kafka.options import Failed
from ottla.cli.kafka.perf_payloads import file_payloads, numbers, random_payloads
from ottla.cli.kafka.perf_statistics import Statistics, percentile

NUMBER = r"[0-9.]+"
WINDOW = re.compile(
    rf"10 records sent, {NUMBER} records/sec \({NUMBER} MB/sec\), 4\.5 ms avg latency, 9\.0 ms max latency\."
)
TOTAL = re.compile(
    rf"10 records sent, {NUMBER} records/sec \({NUMBER} MB/sec\), 4\.50 ms avg latency, "
    r"9\.00 ms max latency, 5 ms 50th, 9 ms 95th, 9 ms 99th, 9 ms 99\.9th\."
)


def test_lines_as_kafka_prints_them() -> None:
    statistics = Statistics(5000)
    for latency in range(9):
        assert statistics.add(latency, 100, statistics.began) is None
    assert WINDOW.fullmatch(statistics.add(9, 100, statistics.began + 5) or "")
    assert TOTAL.fullmatch(statistics.total())


def test_percentiles() -> None:
    assert percentile([7], 0.999) == 7
    assert percentile(list(range(1000)), 0.5) == 500


def test_payloads(tmp_path: Path) -> None:
    assert list(islice(numbers(), 3)) == [b"0", b"1", b"2"]
    [first, second] = islice(random_payloads(50), 2)
    assert len(first) == len(second) == 50
    assert (first + second).isalpha()
    assert (first + second).isupper()
    file = tmp_path / "payloads"
    file.write_text("a|b|")
    assert set(islice(file_payloads(str(file), "|"), 50)) == {b"a", b"b"}
    with pytest.raises(Failed):
        file_payloads(str(tmp_path / "missing"), "\\n")
