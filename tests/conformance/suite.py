"""Runs librdkafka's test-runner against a broker, within bounds of time and output."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from tools.librdkafka import TESTS, built_runner

# librdkafka's -Q quick, -E without emulated sockets, -L without the tests that need no broker.
OPTIONS = ("-Q", "-E", "-L")
CLAIMED_VERSION = "4.3.0"
# About five minutes on Kafka; a broker that answers nothing makes every test use up its own time.
TIME_LIMIT_S = 20 * 60
ENDS_WITHIN_S = 10
OUTPUT_LIMIT_BYTES = 64 * 1024 * 1024
LINE_LIMIT_BYTES = 64 * 1024

PASSED, FAILED, SKIPPED = "PASSED", "FAILED", "SKIPPED"
ENDED = re.compile(rb"=== Test (\w+) (PASSED|FAILED|SKIPPED) ===")
BROKEN = re.compile(rb'### Test "(\w+)" failed at ')


class Suite:
    """One run of the test-runner; everything it prints goes to a log, up to a limit."""

    def __init__(self, bootstrap: str, directory: Path, log: Path) -> None:
        self._log = log
        self._settings = directory / "test.conf"
        self._report = directory / "report.json"
        self._settings.write_text(
            f"metadata.broker.list={bootstrap}\n"
            "broker.address.family=v4\n"
            "test.timeout.multiplier=2\n"
        )

    def run(
        self,
        numbers: Sequence[str] = (),
        at_once: int = 2,
        ended: Callable[[str, str], None] = lambda name, state: None,
    ) -> dict[str, str]:
        """How each test ended; `numbers` names some of them, and none means all."""
        self._report.unlink(missing_ok=True)
        command = [str(built_runner()), f"-p{at_once}", *OPTIONS]
        process = subprocess.Popen(
            command,
            cwd=TESTS,
            env=self._environment(numbers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        overdue = threading.Timer(TIME_LIMIT_S, _kill, [process])
        overdue.start()
        try:
            assert process.stdout is not None
            states = self._follow(process.stdout, ended)
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDS_WITHIN_S)
        finally:
            overdue.cancel()
            _kill(process)
        return states | self._reported()

    def _environment(self, numbers: Sequence[str]) -> dict[str, str]:
        # In CI, or told to by others of these, the runner would use other time-outs or other tests.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TEST")}
        kept.pop("CI", None)
        kept |= {
            "TEST_KAFKA_VERSION": CLAIMED_VERSION,
            "TEST_REPORT": str(self._report),
            "RDKAFKA_TEST_CONF": str(self._settings),
            "LD_LIBRARY_PATH": "../src:../src-cpp",
        }
        return kept | ({"TESTS": ",".join(numbers)} if numbers else {})

    def _follow(self, output: IO[bytes], ended: Callable[[str, str], None]) -> dict[str, str]:
        states: dict[str, str] = {}
        room = OUTPUT_LIMIT_BYTES
        with self._log.open("ab") as log:
            while line := output.readline(LINE_LIMIT_BYTES):
                room -= len(line)
                if room > 0:
                    log.write(line)
                if (found := _ending(line)) and found[0] not in states:
                    states[found[0]] = found[1]
                    ended(*found)
        return states

    def _reported(self) -> dict[str, str]:
        """What the runner reports at its end; nothing if it did not get there."""
        try:
            tests = json.loads(self._report.read_text(errors="replace"))["tests"]
        except (OSError, ValueError):
            return {}
        return {
            name: FAILED if test["state"] == "RUNNING" else test["state"]
            for name, test in tests.items()
        }


def _ending(line: bytes) -> tuple[str, str] | None:
    if found := ENDED.search(line):
        return found[1].decode(), found[2].decode()
    if found := BROKEN.search(line):
        return found[1].decode(), FAILED
    return None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends the runner and whatever it started, unless it has ended by itself."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
