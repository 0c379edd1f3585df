"""The plugin as pytest sees it: what a failed test reports, and what skips."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

FAILING = """
import ottla

def test_that_fails(ottla_broker, ottla_topic):
    ottla_broker.faults.fail("Produce", "RECORD_LIST_TOO_LARGE")
    with ottla.Producer(bootstrap_servers=ottla_broker.bootstrap_servers, client_id="shop") as producer:
        producer.send(ottla_topic, b"a").result(20)

def test_that_fails_without_a_broker():
    assert False, "on its own"

def test_that_fails_with_a_dead_broker(ottla_broker):
    ottla_broker.kill()
    assert False
"""
COROUTINES = """
async def test_of_somebody_elses_event_loop():
    assert False, "this is not run"

async def test_that_fails(ottla_broker):
    assert False, "this is run"
"""
CLUSTER = """
def test_on_a_cluster(ottla_cluster):
    assert False
"""


def run(pytester: pytest.Pytester, source: str) -> str:
    pytester.makepyfile(source)
    ran = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-rs", timeout=60)
    return ran.stdout.str()


def test_a_failed_test_tells_what_the_broker_saw(pytester: pytest.Pytester) -> None:
    output = run(pytester, FAILING)
    assert "3 failed" in output
    first, _, rest = output.partition("test_that_fails_without_a_broker ___")
    assert "ottla broker on 127.0.0.1:" in first
    assert 'fault rule rule="fail with RECORD_LIST_TOO_LARGE" api=Produce' in first
    pytest.LineMatcher(first.splitlines()).fnmatch_lines(
        ["*broker ready*", "requests,*", "*CreateTopics v*", "*shop *Produce v* -> fail with *"]
    )
    alone, _, dead = rest.partition("test_that_fails_with_a_dead_broker ___")
    assert "ottla broker on" not in alone
    assert "(the broker does not run: nobody can say what it was asked)" in dead


def test_coroutines_that_use_the_fixtures_are_run_and_others_left_to_other_plugins(
    pytester: pytest.Pytester,
) -> None:
    output = run(pytester, COROUTINES)
    assert "2 failed" in output
    assert "AssertionError: this is run" in output
    assert "this is not run" not in output


def test_a_cluster_is_skipped_with_a_sentence_where_there_is_no_java(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    output = run(pytester, CLUSTER)
    assert "1 skipped" in output
    assert "ottla_cluster: ZooKeeper needs Java 17 or newer, and there is no java here" in output


def test_a_run_without_brokers_does_not_wait_for_them() -> None:
    program = "import sys, ottla.testing.plugin; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    ours = {name for name in ran.stdout.split() if name.startswith("ottla")}
    assert ours == {"ottla", "ottla._version", "ottla.testing", "ottla.testing.plugin"}
