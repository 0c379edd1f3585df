"""`ottla NOUN VERB` against the broker under test: topics, settings, brokers, the cluster, transactions."""

import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from tests.support.broker import OTTLA
from tests.support.clients import create_topic, produce, producer, unique_name
from tests.support.ottla_cli import Ottla
from tests.support.waiting import wait_for

pytestmark = pytest.mark.compat

TIMEOUT_S = 20


@pytest.fixture
def ottla(bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> Ottla:
    """The command line of a person without contexts."""
    return Ottla(bootstrap).at_home(monkeypatch)


class Quiet(http.server.BaseHTTPRequestHandler):
    """Answers, and logs nothing."""

    def log_message(self, *args: object) -> None:
        """Not into the test's stderr."""


@pytest.fixture
def http_port() -> Iterator[int]:
    """A port that speaks HTTP."""
    with http.server.HTTPServer(("localhost", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_a_topic_from_its_making_to_its_end(ottla: Ottla) -> None:
    name = unique_name("cli-topic")
    assert "3 partitions" in ottla.ok(
        "topics", "create", name, "-p", "3", "-c", "retention.ms=5000"
    )
    assert "exists" in ottla.ok("topics", "create", name, "--if-not-exists")
    assert name in ottla.refused("topics", "create", name)
    wait_for(lambda: ottla.json("topics", "list", name), "the topic in the list")
    shown = ottla.json("topics", "describe", name)
    assert (shown["configs"], len(shown["partitions"])) == ({"retention.ms": "5000"}, 3)
    ottla.ok("topics", "alter", name, "--partitions", "4", "--unset", "retention.ms")
    wait_for(lambda: len(ottla.json("topics", "describe", name)["partitions"]) == 4, "a fourth")
    assert "topic" not in {row["from"] for row in ottla.json("topics", "configs", name)}
    assert "nothing is done without --yes" in ottla.refused("topics", "delete", name)
    assert f"deleted topic {name}" in ottla.ok("topics", "delete", name, "--yes")
    wait_for(lambda: not ottla.json("topics", "list", name), "no topic in the list")


def test_lists_tell_what_topics_hold(ottla: Ottla, bootstrap: str) -> None:
    name = create_topic(bootstrap, "cli-list", partitions=2)
    produce(bootstrap, name, [b"x" * 100] * 7)
    [row] = ottla.json("topics", "list", name, "--long")
    assert (row["topic"], row["partitions"], row["records"]) == (name, 2, 7)
    assert row["bytes"] > 700
    assert ottla.ok("topics", "list", name, "-o", "csv").splitlines()[1].startswith(f"{name},2,1")
    assert ottla.ok("topics", "list", name).splitlines()[0].split()[:2] == ["TOPIC", "PARTITIONS"]


def test_settings_are_shown_changed_and_given_back(ottla: Ottla, topic: str) -> None:
    where = ("--topic", topic)
    assert "retention.ms = 1000" in ottla.ok("configs", "set", *where, "retention.ms=1000")

    def shown() -> dict[str, str]:
        rows = ottla.json("configs", "show", *where)
        return {row["name"]: row["value"] for row in rows if row["from"] == "topic"}

    wait_for(lambda: shown() == {"retention.ms": "1000"}, "the new value")
    names = [row["name"] for row in ottla.json("configs", "show", *where, "--all")]
    assert "segment.bytes" in names
    ottla.ok("configs", "set", *where, "retention.ms=5", "--dry-run")
    ottla.ok("configs", "unset", *where, "retention.ms")
    wait_for(lambda: not shown(), "the default again")
    assert "retention.ms" in ottla.refused("configs", "set", *where, "retention.ms=soon")


def test_brokers_and_the_cluster(ottla: Ottla) -> None:
    [broker] = ottla.json("brokers", "list")
    assert (broker["controller"], broker["leads"]) == (True, broker["in_sync"])
    described = ottla.json("brokers", "describe", str(broker["broker"]))
    assert described["log_dirs"][0]["state"] == "online"
    status = ottla.json("cluster", "status")
    assert (status["healthy"], status["brokers"]) == (True, 1)
    assert ottla.ok("cluster", "id").strip() == status["cluster"]
    assert "HEALTHY" in ottla.ok("cluster", "status")
    assert "there is no broker 77 at present; there are: " in ottla.refused(
        "brokers", "describe", "77"
    )


UNKNOWN = {
    "topics describe": ("topics", "describe"),
    "topics delete": ("topics", "delete", "--yes"),
    "topics alter": ("topics", "alter", "--partitions", "9"),
    "records tail": ("records", "tail"),
    "records export": ("records", "export"),
    "records produce": ("records", "produce"),
    "configs": ("configs", "show", "--topic"),
}


@pytest.mark.parametrize("words", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_an_unknown_topic_is_answered_with_the_nearest(
    ottla: Ottla, topic: str, words: tuple[str, ...]
) -> None:
    sentence = ottla.refused(*words, f"{topic}x")
    assert f"there is no topic {topic}x; did you mean {topic}" in sentence


def test_a_port_that_speaks_http_is_recognized(ottla: Ottla, http_port: int) -> None:
    there = ("-b", f"localhost:{http_port}", "-X", "socket.connection.setup.timeout.ms=600")
    sentence = ottla.refused("topics", "list", *there)
    assert "HTTP" in sentence
    found = ottla.run("doctor", *there)
    assert (found.code, "HTTP" in found.out) == (1, True)


def test_no_broker_at_all(ottla: Ottla) -> None:
    assert "nothing listens on localhost:1" in ottla.refused("topics", "list", "-b", "localhost:1")
    assert "the name is unknown" in ottla.refused("topics", "list", "-b", "nowhere.invalid:1")
    assert "must be host:port" in ottla.refused("topics", "list", "-b", "localhost")
    assert "did you mean request.timeout.ms?" in ottla.refused(
        "topics", "list", "-X", "request.timeout=5"
    )


def test_access_rules_are_listed_or_it_is_said_that_there_are_none(ottla: Ottla) -> None:
    done = ottla.run("acls", "list")
    assert (done.code, done.out) == (1, "")
    assert len(done.err.splitlines()) == 1


def test_a_transaction_is_found_and_aborted(ottla: Ottla, bootstrap: str, topic: str) -> None:
    name = unique_name("cli-transaction")
    client = producer(bootstrap, transactional_id=name)
    client.init_transactions(TIMEOUT_S)
    client.begin_transaction()
    client.produce(topic, b"open")
    client.flush(TIMEOUT_S)
    listed = ottla.json("transactions", "list", "--state", "Ongoing")
    assert name in [each["transactional_id"] for each in listed]
    shown = ottla.json("transactions", "describe", name)
    assert (shown["state"], shown["partitions"]) == ("Ongoing", [f"{topic}-0"])
    assert "hides 1 records" in ottla.ok("doctor", "--topic", topic)
    found = ottla.run("transactions", "find-hanging", "--topic", topic)
    assert (found.code, found.err) == (0, "no transaction hangs\n")
    assert "aborted the transaction" in ottla.ok("transactions", "abort", name)
    wait_for(lambda: ottla.json("transactions", "describe", name)["state"] != "Ongoing", "its end")
    assert "did you mean" in ottla.refused("transactions", "describe", f"{name}x")
    assert "none is open there" in ottla.refused(
        "transactions", "abort", "-t", topic, "-p", "0", "--start-offset", "0"
    )


def test_completion_knows_topics_and_groups(
    ottla: Ottla, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTTLA_BOOTSTRAP_SERVERS", ottla.bootstrap)
    words = ("completion", "words")
    assert ottla.ok(*words, "topics", "describe", topic).split() == [topic]
    assert topic in ottla.ok(*words, "records", "tail", "").split()
    found = ottla.ok(*words, "doctor", "--topic", topic[:-1]).split()
    assert topic in found


def test_a_listing_imports_little(bootstrap: str) -> None:
    program = (
        "import sys, json; from ottla.cli.main import main;"
        f"main(['topics', 'list', '-b', '{bootstrap}', '-o', 'csv']);"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=TIMEOUT_S
    )
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert not loaded & {"rich", "click", "uvloop", "kio", "pyarrow", "cramjam", "ottla.node"}


def test_a_measurement_tells_throughput_and_latency(ottla: Ottla) -> None:
    few = ("--records", "2000", "--samples", "20", "--partitions", "2")
    found = ottla.json("bench", *few)
    assert (found["produce"]["records"], found["consume"]["records"]) == (2000, 2000)
    assert 0 < found["acknowledged"]["p50_ms"] <= found["received"]["p99_ms"]
    shown = ottla.ok("bench", *few, "--only", "latency")
    assert "P99.9 MS" in shown
    assert "acknowledged after\n<= " in shown
    assert not ottla.json("topics", "list", "ottla-bench-*")


def test_the_installed_command_ends_quietly_with_its_reader(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, [b"x" * 1000] * 500)
    tail = [str(OTTLA), "records", "tail", topic, "--from-beginning", "-b", bootstrap]
    with subprocess.Popen(tail, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline()
        running.stdout.close()
        assert running.wait(TIMEOUT_S) == 0
        assert running.stderr.read() == b""


def test_what_was_done_is_told_to_programs_too(ottla: Ottla) -> None:
    names = [unique_name("cli-told"), unique_name("cli-told")]
    made = ottla.json("topics", "create", *names, "-p", "2")
    assert [(row["topic"], row["created"], row["partitions"]) for row in made] == [
        (name, True, 2) for name in names
    ]
    changed = ottla.json("topics", "alter", names[0], "--set", "retention.ms=5")
    assert changed == [{"of": f"topic {names[0]}", "name": "retention.ms", "value": "5"}]
    assert ottla.json("cluster", "id")[0]["cluster"] == ottla.ok("cluster", "id").strip()
    gone = ottla.run("topics", "delete", *names, "--yes", "-o", "csv").out
    assert gone.splitlines() == ["topic,deleted", *(f"{name},yes" for name in sorted(names))]
