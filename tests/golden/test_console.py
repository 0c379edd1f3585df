"""Console commands as a person uses them: typed, piped, interrupted."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.golden.actors import Actors
from tests.golden.test_scripts import typed
from tests.support.clients import create_topic, produce, unique_name

BIN = Path(sys.executable).parent
TIMEOUT_S = 30


@pytest.fixture
def topic(ottla_bootstrap: str) -> str:
    return create_topic(ottla_bootstrap)


def fed(line: str, bootstrap: str, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    name, *words = line.replace("localhost:9092", bootstrap).split()
    return subprocess.run(
        [BIN / name, *words], input=stdin, capture_output=True, timeout=TIMEOUT_S, check=False
    )


@pytest.fixture
def tail(ottla_bootstrap: str, topic: str) -> Iterator[subprocess.Popen[bytes]]:
    """A consumer of a group that has read two records and waits for more."""
    produce(ottla_bootstrap, topic, [b"one", b"two"])
    line = [BIN / "kafka-console-consumer", "--bootstrap-server", ottla_bootstrap]
    line += ["--topic", topic, "--group", topic, "--from-beginning"]
    pipe = subprocess.PIPE
    with subprocess.Popen(line, stdout=pipe, stderr=pipe) as command:
        assert command.stdout is not None
        assert [command.stdout.readline(), command.stdout.readline()] == [b"one\n", b"two\n"]
        yield command
        command.kill()


def test_lines_go_in_and_come_out(ottla_bootstrap: str, topic: str) -> None:
    server = "--bootstrap-server localhost:9092"
    line = f"kafka-console-producer {server} --topic {topic} --producer-property acks=all"
    sent = fed(line, ottla_bootstrap, b"hello world\n\xff\x00 no text\r\nlast, without an end")
    assert (sent.returncode, sent.stderr) == (0, b"")
    line = f"kafka-console-consumer.sh {server} --topic {topic} --from-beginning --max-messages 3"
    read = fed(line, ottla_bootstrap, b"")
    assert read.stdout == b"hello world\n\xff\x00 no text\nlast, without an end\n"
    assert read.stderr.endswith(b"Processed a total of 3 messages\n")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_tail_that_is_interrupted_has_committed_and_left(
    tail: subprocess.Popen[bytes], ottla_bootstrap: str, topic: str, number: int, code: int
) -> None:
    tail.send_signal(number)
    out, err = tail.communicate(timeout=TIMEOUT_S)
    assert (out, tail.returncode) == (b"", code)
    assert err.endswith(b"Processed a total of 2 messages\n")
    assert b"Traceback" not in err
    groups = f"kafka-consumer-groups --bootstrap-server localhost:9092 --describe --group {topic}"
    out_text, err_text, _ = typed(groups, ottla_bootstrap)
    assert out_text.splitlines()[-1].split()[1:6] == [topic, "0", "2", "2", "0"]
    assert err_text == f"\nConsumer group '{topic}' has no active members.\n"


def test_a_reader_that_leaves_ends_the_consumer(ottla_bootstrap: str, topic: str) -> None:
    produce(ottla_bootstrap, topic, [b"x" * 200] * 3000)
    line = f"{BIN}/kafka-console-consumer --bootstrap-server {ottla_bootstrap} --topic {topic} --from-beginning"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{line} | head -1"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("x" * 200 + "\n", 0)
    assert done.stderr.endswith("Unable to write to standard out, closing consumer.\n")


def test_old_and_misspelt_options_are_helped(ottla_bootstrap: str, topic: str) -> None:
    line = f"kafka-console-consumer --broker-list localhost:9092 --topic {topic} --max-messages 0"
    _, err, code = typed(line, ottla_bootstrap)
    assert (err.splitlines()[0], code) == ("--broker-list is taken as --bootstrap-server.", 0)
    line = "kafka-consumer-groups --bootstrap-server localhost:9092 --describe --groujp g"
    _, err, code = typed(line, ottla_bootstrap)
    expected = line.replace("--groujp", "--group").replace("localhost:9092", ottla_bootstrap)
    assert code == 1
    assert err.endswith(f"did you mean --group? Try: {expected}\n")


def test_a_record_that_is_refused_is_told_and_counts(ottla_bootstrap: str, topic: str) -> None:
    line = f"kafka-console-producer --bootstrap-server localhost:9092 --topic {topic}"
    sent = fed(
        f"{line} --command-property max.request.size=100", ottla_bootstrap, b"y" * 200 + b"\nz\n"
    )
    assert sent.returncode == 1
    assert sent.stderr.startswith(
        f"Error when sending message to topic {topic} with key: null, value: 200 bytes".encode()
    )
    read = f"kafka-console-consumer --bootstrap-server localhost:9092 --topic {topic} --partition 0"
    out, _, _ = typed(f"{read} --offset earliest --max-messages 1", ottla_bootstrap)
    assert out == "z\n"


def test_a_tail_waits_for_a_topic_to_be_made(ottla_bootstrap: str) -> None:
    name = unique_name("later")
    line = f"kafka-console-consumer --bootstrap-server localhost:9092 --topic {name} --timeout-ms 0"
    out, err, code = typed(line, ottla_bootstrap)
    assert (out, code) == ("", 0)
    assert err.endswith("Processed a total of 0 messages\n")


def test_a_person_at_a_terminal_sees_a_prompt(ottla_bootstrap: str, topic: str) -> None:
    ours, theirs = pty.openpty()
    line = [BIN / "kafka-console-producer", "--bootstrap-server", ottla_bootstrap, "--topic", topic]
    with subprocess.Popen(line, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE) as producer:
        os.close(theirs)
        assert os.read(ours, 1) == b">"
        os.write(ours, b"typed\n")
        while not os.read(ours, 100).endswith(b">"):
            pass
        os.write(ours, b"\x04")  # Ctrl-D
        assert producer.wait(TIMEOUT_S) == 0
    os.close(ours)
    read = f"kafka-console-consumer --bootstrap-server localhost:9092 --topic {topic} --partition 0"
    out, _, _ = typed(f"{read} --offset earliest --max-messages 1", ottla_bootstrap)
    assert out == "typed\n"


def test_what_coordinators_keep_can_be_read(ottla_bootstrap: str, topic: str) -> None:
    with Actors(ottla_bootstrap) as actors:
        actors.commit(topic, f"{topic}:0:5")
        actors.transaction(topic, topic, "committed")
    line = "kafka-console-consumer --bootstrap-server localhost:9092 --from-beginning --timeout-ms 2000"
    formatter = "--formatter org.apache.kafka.tools.consumer"
    commits = f"{line} --topic __consumer_offsets {formatter}.OffsetsMessageFormatter"
    out, _, code = typed(commits, ottla_bootstrap)
    found = [json.loads(each) for each in out.splitlines() if topic in each]
    assert code == 0
    assert found[0]["key"] == {"type": 1, "data": {"group": topic, "topic": topic, "partition": 0}}
    assert found[0]["value"]["data"]["offset"] == 5
    states = f"{line} --topic __transaction_state {formatter}.TransactionLogMessageFormatter"
    out, _, code = typed(states, ottla_bootstrap)
    last = [json.loads(each) for each in out.splitlines() if topic in each][-1]
    assert (code, last["key"]) == (0, {"type": 0, "data": {"transactionalId": topic}})
    assert last["value"]["data"]["transactionStatus"] == 4  # complete, committed
