"""What librdkafka's test-runner prints is followed line by line, and kept up to a limit."""

import io
from pathlib import Path

import pytest

from tests.conformance import suite
from tests.conformance.suite import Suite

OUTPUT = b"""\
\x1b[36m[0118_commit_rebalance       /  0.000s] ======= Running test 0118_commit_rebalance =======
\x1b[32m[0001_multiobj               /  0.060s] ======= Test 0001_multiobj PASSED =======\x1b[0m
\x1b[31m### Test "0118_commit_rebalance" failed at 0118-commit_rebalance.c:79:rebalance_cb(): ###
[0097_ssl_verify             /  0.000s] ======= Test 0097_ssl_verify SKIPPED =======
"""


@pytest.fixture
def run(tmp_path: Path) -> Suite:
    return Suite("127.0.0.1:9092", tmp_path, tmp_path / "log")


def test_every_ending_is_noticed_as_it_comes(run: Suite, tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []
    states = run._follow(io.BytesIO(OUTPUT), lambda name, state: seen.append((name, state)))
    assert states == {
        "0001_multiobj": "PASSED",
        "0118_commit_rebalance": "FAILED",
        "0097_ssl_verify": "SKIPPED",
    }
    assert list(states.items()) == seen
    assert (tmp_path / "log").read_bytes() == OUTPUT


def test_errors_for_ever_do_not_fill_the_disk(
    run: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "OUTPUT_LIMIT_BYTES", 1000)
    endless = b"%3|FAIL|rdkafka#producer-1| Connection refused\n" * 1000
    states = run._follow(io.BytesIO(endless + OUTPUT), lambda name, state: None)
    assert states["0001_multiobj"] == "PASSED"
    assert (tmp_path / "log").stat().st_size <= 1000


def test_a_test_still_running_at_the_end_has_failed(run: Suite, tmp_path: Path) -> None:
    assert run._reported() == {}
    tests = '{"tests": {"0001_multiobj": {"state": "RUNNING"}, "0005_order": {"state": "PASSED"}}}'
    (tmp_path / "report.json").write_text(tests)
    assert run._reported() == {"0001_multiobj": "FAILED", "0005_order": "PASSED"}
