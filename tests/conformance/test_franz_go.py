"""What the tests of a Go program print is counted, and what matters of it is shown."""

import pytest

from tests.conformance.franz_go import follow

OUTPUT = """\
=== RUN   TestTxnEtl
    --- PASS: TestTxnEtl/range (8.08s)
--- PASS: TestTxnEtl (25.30s)
--- PASS: TestRing (0.00s)
--- SKIP: TestShareGroup (0.00s)
--- FAIL: TestPing (0.10s)
"""


def test_endings_are_counted_and_the_long_and_the_failed_are_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert follow(OUTPUT.splitlines()) == {"PASS": 3, "SKIP": 1, "FAIL": 1}
    shown = capsys.readouterr().out
    assert "TestTxnEtl/range" in shown
    assert "fail TestPing" in shown
    assert "TestRing" not in shown
