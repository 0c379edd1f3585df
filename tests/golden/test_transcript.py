"""Every command of the recorded transcript prints, on ottla and on Kafka, what Kafka's own printed."""

import pytest

from tests.golden.transcript import (
    CUT,
    HERE,
    RECORDED_AT,
    Printed,
    Step,
    comparable,
    play,
    read_transcript,
)

STEPS = list(read_transcript(HERE / "kafka-4.3.txt"))
COMMANDS = [number for number, step in enumerate(STEPS) if step.expected is not None]


def name(number: int) -> str:
    """A command line, short enough for a test's name."""
    line = STEPS[number].line.replace("--bootstrap-server localhost:9092 ", "")
    return f"{number}-{line[:60]}"


@pytest.fixture(scope="session")
def on_ottla(ottla_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> list[Printed]:
    return played(ottla_bootstrap, tmp_path_factory)


@pytest.fixture(scope="session")
def on_kafka(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> list[Printed]:
    return played(kafka_bootstrap, tmp_path_factory)


def played(bootstrap: str, factory: pytest.TempPathFactory) -> list[Printed]:
    printed = play(STEPS, bootstrap, factory.mktemp("played"))
    return [each and comparable(each, bootstrap) for each in printed]


@pytest.mark.parametrize("number", COMMANDS, ids=name)
def test_on_ottla(on_ottla: list[Printed], number: int) -> None:
    assert_same(on_ottla[number], STEPS[number])


@pytest.mark.java
@pytest.mark.parametrize("number", COMMANDS, ids=name)
def test_on_kafka(on_kafka: list[Printed], number: int) -> None:
    assert_same(on_kafka[number], STEPS[number])


def assert_same(printed: Printed, step: Step) -> None:
    assert step.expected is not None
    expected = comparable(step.expected, RECORDED_AT)
    assert printed.code == expected.code
    assert printed.stderr == expected.stderr
    if CUT in expected.stdout:
        whole = set(printed.stdout.splitlines())
        assert not [line for line in expected.stdout.splitlines() if line not in {*whole, CUT}]
    else:
        assert printed.stdout == expected.stdout
