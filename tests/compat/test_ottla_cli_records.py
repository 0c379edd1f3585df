"""`ottla records` against the broker under test: tail, produce, export and import."""

import json
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ottla import Producer
from tests.support.broker import OTTLA
from tests.support.clients import consume, create_topic, produce
from tests.support.ottla_cli import Ottla

pytestmark = pytest.mark.compat

TIMEOUT_S = 20
START_MS = 1_769_860_800_000
HARD = [
    {"value": b'{"amount": 120}', "key": b"eu-1", "headers": [("source", b"web")]},
    {"value": b'{"amount": 80}', "key": b"us-1", "headers": [("source", b"\xff\x00")]},
    {"value": b"\xff\xfe", "key": b"\x00\x80", "headers": [("n", None), ("n", b"2")]},
    {"value": None, "key": b"gone"},
    {"value": 'Žofie → Ottla\n\t"x"'.encode(), "key": None},
]


@pytest.fixture
def ottla(bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> Ottla:
    """The command line of a person without contexts."""
    return Ottla(bootstrap).at_home(monkeypatch)


@pytest.fixture
def orders(bootstrap: str) -> str:
    """Records of all sorts in two partitions, a minute apart."""
    name = keeping(bootstrap, "cli-orders", partitions=2)
    records = [
        {**record, "partition": n % 2, "timestamp": START_MS + n * 60_000}
        for n, record in enumerate(HARD)
    ]
    produce(bootstrap, name, records)
    return name


def keeping(bootstrap: str, prefix: str, partitions: int = 1) -> str:
    """A topic that does not mind how old its records are."""
    return create_topic(bootstrap, prefix, partitions, retention_ms=-1)


def contents(bootstrap: str, topic: str, partitions: int = 2) -> list[Any]:
    """All that belongs to the records of a topic."""
    return [
        (m.partition(), m.offset(), m.timestamp(), m.key(), m.value(), m.headers())
        for number in range(partitions)
        for m in consume(bootstrap, topic, number)
    ]


def tail(ottla: Ottla, topic: str, *words: str) -> list[str]:
    return ottla.ok("records", "tail", topic, "--exit", *words).splitlines()


def test_a_tail_shows_what_is_asked_for(ottla: Ottla, orders: str) -> None:
    shown = tail(ottla, orders, "--from-beginning", "-p", "0", "-f", "%t %p %o %k")
    assert shown[0] == f"{orders} 0 0 eu-1"
    assert len(shown) == 3
    wanted = ("--from-beginning", "--where", "value.amount > 100", "-f", "%k %v")
    assert tail(ottla, orders, *wanted) == ['eu-1 {"amount": 120}']
    named = ("--from-beginning", "--where", "headers.source = 'web' or key = 'gone'", "-f", "%k")
    assert sorted(tail(ottla, orders, *named)) == ["eu-1", "gone"]
    assert tail(ottla, orders, "--offset", "-1", "-p", "1", "-f", "%o %v") == ["1 null"]
    assert tail(ottla, orders, "--since", "2026-01-31T12:02:30", "-f", "%T") != []
    assert tail(ottla, orders, "--since", "2099-01-01T00:00") == []


def test_the_newest_records_are_those_of_all_partitions(ottla: Ottla, orders: str) -> None:
    newest = ottla.ok("records", "tail", orders, "-n", "2", "-o", "ndjson").splitlines()
    assert [json.loads(line)["timestamp"] for line in newest] == [
        START_MS + 180_000,
        START_MS + 240_000,
    ]
    first = ottla.ok(
        "records", "tail", orders, "--from-beginning", "-n", "1", "-p", "1", "-f", "%k"
    )
    assert first == "us-1\n"


@pytest.mark.parametrize("suffix", ["ndjson", "parquet"])
def test_a_topic_goes_into_a_file_and_comes_back_as_it_was(
    ottla: Ottla, bootstrap: str, orders: str, tmp_path: Path, suffix: str
) -> None:
    file = str(tmp_path / f"orders.{suffix}")
    done = ottla.run("records", "export", orders, "--to", file)
    assert (done.code, "exported 5 records" in done.err) == (0, True)
    assert "--force replaces it" in ottla.refused("records", "export", orders, "--to", file)
    copy = keeping(bootstrap, "cli-copy", partitions=2)
    assert "wrote 5 records" in ottla.run("records", "import", copy, "--from", file).err
    assert contents(bootstrap, copy) == contents(bootstrap, orders)
    narrow = keeping(bootstrap, "cli-narrow")
    refusal = ottla.refused("records", "import", narrow, "--from", file)
    assert f"`ottla topics alter {narrow} --partitions 2` adds it" in refusal
    ottla.ok("records", "import", narrow, "--from", file, "--repartition")
    assert {path.name for path in tmp_path.iterdir()} == {f"orders.{suffix}"}


def test_parts_of_a_topic_are_exported(ottla: Ottla, orders: str) -> None:
    words = ("records", "export", orders, "--since", "2026-01-31T12:01:00")
    lines = ottla.ok(*words, "--until", "2026-01-31T12:03:00", "-p", "1").splitlines()
    assert [json.loads(line)["key"] for line in lines] == ["us-1"]
    lines = ottla.ok("records", "export", orders, "--where", "value = null").splitlines()
    assert [json.loads(line)["key"] for line in lines] == ["gone"]


def test_parquet_without_pyarrow_is_refused_in_one_sentence(
    ottla: Ottla, orders: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for words in (("export", orders, "--to"), ("import", orders, "--from")):
        sentence = ottla.refused("records", *words, str(tmp_path / "x.parquet"))
        assert "pip install 'ottla[parquet]'" in sentence


def test_lines_become_values(ottla: Ottla, bootstrap: str, topic: str) -> None:
    lines = b'{"id": {"n": 7}}\nplain\n\n'
    done = ottla.run("records", "produce", topic, "-H", "by=hand", stdin=lines)
    assert (done.code, "wrote 3 records" in done.err) == (0, True)
    ottla.ok("records", "produce", topic, "-k", "k", stdin=b"keyed")
    ottla.ok("records", "produce", topic, "--key-separator", ":", stdin=b"a:b:c")
    ottla.ok("records", "produce", topic, "--key-field", "id.n", stdin=b'{"id": {"n": 7}}')
    found = [(m.key(), m.value()) for m in consume(bootstrap, topic)]
    assert found[:3] == [(None, b'{"id": {"n": 7}}'), (None, b"plain"), (None, b"")]
    assert found[3:] == [(b"k", b"keyed"), (b"a", b"b:c"), (b"7", b'{"id": {"n": 7}}')]
    assert consume(bootstrap, topic)[0].headers() == [("by", b"hand")]


def test_what_a_tail_prints_can_be_produced_again(
    ottla: Ottla, bootstrap: str, orders: str, tmp_path: Path
) -> None:
    printed = ottla.ok("records", "tail", orders, "--from-beginning", "-e", "-o", "ndjson")
    file = tmp_path / "orders.ndjson"
    file.write_text(printed, "utf-8")
    copy = keeping(bootstrap, "cli-again", partitions=2)
    done = ottla.run("records", "produce", copy, "--from", str(file))
    assert "the lines are taken as whole records" in done.err
    assert contents(bootstrap, copy) == contents(bootstrap, orders)
    ottla.ok("records", "produce", copy, "--from", str(file), "--as", "values")
    assert len(contents(bootstrap, copy)) == 10


WRONG = {
    "no JSON": (b'{"value": 1}\nnonsense\n', ("--as", "records"), "line 2 is no JSON"),
    "no record": (b'{"value": 1}\n{"amount": 1}\n', (), "line 2 has the field amount"),
    "no separator": (b"ab\n", ("--key-separator", ":"), "line 1 has no ':' between key and"),
    "no field": (b'{"a": 1}\n', ("--key-field", "b"), "line 1 has no b to take as its key"),
    "no partition": (b"x\n", ("-p", "7"), "line 1 is for partition 7, which topic"),
    "too large": (b"x" * 2_000_000, (), "line 1: "),
    "no file": (b"", ("--from", "/nonexistent.ndjson"), "/nonexistent.ndjson: No such file"),
}


@pytest.mark.parametrize(("lines", "words", "why"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_produced_is_named(
    ottla: Ottla, topic: str, lines: bytes, words: tuple[str, ...], why: str
) -> None:
    done = ottla.run("records", "produce", topic, *words, stdin=lines)
    assert (done.code, done.out) == (1, "")
    assert why in done.err.splitlines()[-1]
    assert "Traceback" not in done.err


def test_a_record_that_the_broker_refuses_is_named(ottla: Ottla, bootstrap: str) -> None:
    compacted = create_topic(bootstrap, "cli-compacted", cleanup_policy="compact")
    sentence = ottla.refused("records", "produce", compacted, stdin=b"without a key\n")
    assert "line 1: " in sentence
    assert "records without a key are refused" in ottla.ok("doctor", "--topic", compacted)


def test_ctrl_c_ends_a_tail_quietly(bootstrap: str, orders: str) -> None:
    command = [str(OTTLA), "records", "tail", orders, "--from-beginning", "-b", bootstrap]
    for words, ending in (([], ""), (["-o", "json"], "]\n")):
        with subprocess.Popen(
            [*command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors="replace"
        ) as running:
            assert running.stdout is not None
            first = running.stdout.readline()
            running.send_signal(signal.SIGINT)
            rest, errors = running.communicate(timeout=TIMEOUT_S)
            assert (running.returncode, errors) == (130, "")
            assert first
            assert rest.endswith(ending)


def test_what_was_aborted_or_is_open_is_shown_on_request_only(
    ottla: Ottla, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    name = {"transactional_id": f"tx-{topic}"}
    with Producer(bootstrap_servers=bootstrap, **name) as producer:
        producer.init_transactions()
        with producer.transaction():
            producer.send(topic, b"committed")
        with suppress(KeyError), producer.transaction():
            producer.send(topic, b"aborted").result(TIMEOUT_S)
            raise KeyError
        producer.begin_transaction()
        producer.send(topic, b"open")
        producer.flush()
        shown = ("--from-beginning", "-f", "%v")
        assert tail(ottla, topic, *shown) == ["committed"]
        everything = ("--isolation-level", "read_uncommitted")
        assert tail(ottla, topic, *shown, *everything) == ["committed", "aborted", "open"]
        for words, count in (((), 1), (everything, 3)):
            path = tmp_path / f"{count}.ndjson"
            ottla.ok("records", "export", topic, "--to", str(path), *words)
            assert len(path.read_text().splitlines()) == count
