"""The tools that measure print what Kafka's own print, with other numbers."""

import re
from pathlib import Path

from tests.golden.transcript import run
from tests.support.clients import create_topic, unique_name

N = r"[0-9.]+"
SENT = re.compile(
    rf"(\d+)( steady state)? records sent, {N} records/sec \({N} MB/sec\), {N} ms avg latency, "
    rf"{N} ms max latency, \d+ ms 50th, \d+ ms 95th, \d+ ms 99th, \d+ ms 99\.9th\."
)
DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}"
TOTAL = re.compile(rf"{DATE}, {DATE}, {N}, {N}, (\d+), {N}, \d+, \d+, {N}, {N}")


def test_producing_and_consuming(ottla_bootstrap: str) -> None:
    topic = create_topic(ottla_bootstrap)
    server = ("--bootstrap-server", ottla_bootstrap, "--topic", topic)
    words = ("--num-records", "2000", "--record-size", "100", "--throughput", "-1")
    sent = run("kafka-producer-perf-test", *server, *words)
    assert (sent.code, sent.stderr) == (0, "")
    assert SENT.fullmatch(sent.stdout.strip())
    read = run("kafka-consumer-perf-test", *server, "--messages", "2000")
    warning, header, line = read.stdout.splitlines()
    assert warning == "Warning: --messages is deprecated. Use --num-records instead."
    assert header.startswith("start.time, end.time, data.consumed.in.MB, MB.sec, ")
    found = TOTAL.fullmatch(line)
    assert found is not None
    assert (read.code, found[1]) == (0, "2000")


def test_transactions_warm_up_and_files(ottla_bootstrap: str, tmp_path: Path) -> None:
    topic = create_topic(ottla_bootstrap)
    payloads = tmp_path / "payloads.txt"
    payloads.write_text("first\nsecond\n")
    words = ("--num-records", "300", "--payload-file", str(payloads), "--throughput", "-1")
    more = ("--transaction-duration-ms", "20", "--warmup-records", "100", "--print-metrics")
    settings = ("--producer-props", f"bootstrap.servers={ottla_bootstrap}", "linger.ms=0")
    sent = run("kafka-producer-perf-test", "--topic", topic, *words, *more, *settings)
    assert (sent.code, sent.stderr) == (0, "")
    totals = [found[1] for found in map(SENT.fullmatch, sent.stdout.splitlines()) if found]
    assert totals == ["300", "200"]
    assert "Number of records read: 2\n" in sent.stdout
    assert re.search(r"producer-metrics:record-send-total:\S+ : 300\.000", sent.stdout)


def test_too_few_records_to_consume(ottla_bootstrap: str) -> None:
    words = ("--bootstrap-server", ottla_bootstrap, "--topic", create_topic(ottla_bootstrap))
    more = ("--num-records", "5", "--timeout", "200", "--hide-header", "--show-detailed-stats")
    read = run("kafka-consumer-perf-test", *words, *more)
    assert read.stdout == (
        "WARNING: Exiting before consuming the expected number of records: timeout (200 ms) "
        "exceeded. You can use the --timeout option to increase the timeout.\n"
    )


def test_latency_from_end_to_end(ottla_bootstrap: str) -> None:
    topic = unique_name("latency")
    measured = run("kafka-e2e-latency", ottla_bootstrap, topic, "20", "all", "50")
    assert (measured.code, measured.stderr) == (0, "")
    warning, made, first, average, percentiles = measured.stdout.splitlines()
    assert warning.startswith("WARNING: Positional argument usage is deprecated")
    assert made.startswith(f'Topic "{topic}" does not exist. Will create topic with 1 partition(s)')
    assert re.fullmatch(rf"0\t{N}", first)
    assert re.fullmatch(rf"Avg latency: {N} ms", average)
    assert re.fullmatch(r"Percentiles: 50th = \d+, 99th = \d+, 99\.9th = \d+", percentiles)
