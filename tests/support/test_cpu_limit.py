"""What works too long is ended and says so; what merely waits is not."""

import sys

from tests.support.cpu_limit import run_within


def test_the_exit_code_and_all_that_was_printed_come_back() -> None:
    script = "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)"
    assert run_within(30, [sys.executable, "-c", script]) == (3, "out\nerr\n")


def test_a_command_that_never_stops_working_is_ended() -> None:
    code, output = run_within(1, [sys.executable, "-S", "-c", "while True: pass"])
    assert code < 0
    assert "it may use 1 s of CPU" in output
