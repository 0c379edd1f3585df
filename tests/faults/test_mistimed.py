"""A clock that is off: the time of day of a process is what its file says, from one moment to the next."""

import subprocess
import sys
import time
from pathlib import Path

from tests.faults.mistimed import set_clock

PROGRAM = """
import sys, time
from pathlib import Path
from tests.faults.mistimed import go_by
go_by(Path(sys.argv[1]))
for _ in sys.stdin:
    print(time.time_ns() / 1e9, time.time(), flush=True)
"""


def test_a_clock_jumps_while_its_process_runs(tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    set_clock(clock, 0)
    command = [sys.executable, "-c", PROGRAM, str(clock)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for off_s in (0, 300, -300):
            set_clock(clock, off_s)
            before = time.time()
            process.stdin.write("\n")
            process.stdin.flush()
            told = [float(each) - off_s for each in process.stdout.readline().split()]
            assert all(before - 0.001 <= each <= time.time() + 0.001 for each in told)
        process.stdin.close()
