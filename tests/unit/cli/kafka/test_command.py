"""Whatever goes wrong in a command ends in one sentence and the right exit code."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ottla.cli.kafka.command import KAFKA_VERSION, run
from ottla.cli.kafka.options import Command, Failed, Given, Option, UsageError
from ottla.storage.producer_state import ProducerState

COMMAND = Command("kafka-example", "Shows how.", (Option("topic", "A topic.", "String: topic"),))
BIN = Path(sys.executable).parent
SCRIPTS = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text())["project"][
    "scripts"
]


def done(given: Given) -> int:
    print(f"topic {given.value('topic')}")
    return 0


def fail(error: BaseException):
    def execute(given: Given) -> int:
        print("so far")
        raise error

    return execute


def test_what_the_command_returns_is_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(COMMAND, done, ["--topic", "t"]) == 0
    assert capsys.readouterr() == ("topic t\n", "")


@pytest.mark.parametrize("words", [(), ("--help",)])
def test_help_goes_to_stderr_with_1_as_kafkas_does(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert run(COMMAND, done, words) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Shows how.\nOption ")
    assert "--topic <String: topic>" in err


def test_the_version_is_the_one_of_kafka(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(COMMAND, done, ["--version"]) == 0
    assert capsys.readouterr() == (f"{KAFKA_VERSION}\n", "")


FAILURES = {
    "a refusal": (Failed("no such thing"), 1, "no such thing\n"),
    "a file": (FileNotFoundError(2, "No such file or directory", "f"), 1, "f: No such file or directory\n"),
    "an interruption": (KeyboardInterrupt(), 130, ""),
}  # fmt: skip


@pytest.mark.parametrize(("error", "code", "said"), FAILURES.values(), ids=FAILURES.keys())
def test_a_failure_is_one_sentence(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int, said: str
) -> None:
    assert run(COMMAND, fail(error), ["--topic", "t"]) == code
    assert capsys.readouterr() == ("so far\n", said)


def test_a_prefix_goes_before_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(COMMAND, fail(Failed("no")), ["--topic", "t"], prefix="Error occurred: ") == 1
    assert capsys.readouterr().err == "Error occurred: no\n"


def test_options_that_make_no_command_are_told_with_the_help(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(COMMAND, fail(UsageError("one action, please")), ["--topic", "t"]) == 1
    assert capsys.readouterr().err.startswith("one action, please\nOption ")


def test_words_that_are_ignored_are_pointed_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(COMMAND, done, ["--topic", "a", "b"]) == 0
    assert capsys.readouterr().err == "'b' belongs to no option and is ignored.\n"


def test_every_command_is_there_under_both_of_its_names() -> None:
    ours = {name: target for name, target in SCRIPTS.items() if ".kafka." in target}
    plain = {name: target for name, target in ours.items() if not name.endswith(".sh")}
    assert {"kafka-topics", "kafka-configs", "zookeeper-shell", "connect-standalone"} <= set(plain)
    assert ours == plain | {f"{name}.sh": target for name, target in plain.items()}
    assert all((BIN / name).exists() for name in ours)


@pytest.mark.parametrize("name", ["kafka-topics.sh", "zookeeper-shell", "connect-distributed.sh"])
def test_installed_commands_start(name: str) -> None:
    ran = subprocess.run([BIN / name], capture_output=True, text=True, timeout=30)
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    name = "00000000000000000000.snapshot"
    (tmp_path / name).write_bytes(ProducerState().encode_snapshot())
    line = [BIN / "kafka-dump-log", "--files", ",".join([name] * 4000)]
    pipe = subprocess.PIPE
    with subprocess.Popen(line, cwd=tmp_path, stdout=pipe, stderr=pipe, bufsize=0) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        assert command.stdout.read(8) == b"Dumping "
        command.stdout.close()
        said = command.stderr.read()
        assert command.wait(30) == 0
    assert said == b""
