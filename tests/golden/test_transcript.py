"""Every recorded command prints, on ottla and on Kafka, what Kafka's own printed.

A transcript is played once against each broker, in its order; each of its commands is a test.
"""

from functools import cache
from pathlib import Path

import pytest

from tests.golden.transcript import (
    HERE,
    RECORDED_AT,
    Printed,
    Step,
    comparable,
    play,
    read_transcript,
)

ON_BOTH = ("kafka-4.3", "more-4.3", "groups-4.3", "group-configs-4.3", "console-4.3")
ON_KAFKA_ALONE = ("kafka-alone-4.3",)


@cache
def steps_of(transcript: str) -> list[Step]:
    return list(read_transcript(HERE / f"{transcript}.txt"))


def commands(*transcripts: str) -> list[object]:
    return [
        pytest.param(transcript, number, id=f"{transcript}-{number}-{name(step)}")
        for transcript in transcripts
        for number, step in enumerate(steps_of(transcript))
        if step.expected is not None
    ]


def name(step: Step) -> str:
    """A command line, short enough for a test's name."""
    return step.line.replace("--bootstrap-server localhost:9092 ", "")[:60]


class Played:
    """What the transcripts printed on one broker; each is played when it is first asked for."""

    def __init__(self, bootstrap: str, directory: Path, settle_s: float = 0.0) -> None:
        self._bootstrap = bootstrap
        self._directory = directory
        self._settle_s = settle_s
        self._printed: dict[str, list[Printed | None]] = {}

    def printed(self, transcript: str, number: int) -> Printed:
        if transcript not in self._printed:
            steps = steps_of(transcript)
            self._printed[transcript] = play(
                steps, self._bootstrap, self._directory, self._settle_s
            )
        found = self._printed[transcript][number]
        assert found is not None
        return comparable(found, self._bootstrap)


@pytest.fixture(scope="module")
def on_ottla(ottla_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Played:
    return Played(ottla_bootstrap, tmp_path_factory.mktemp("on-ottla"))


@pytest.fixture(scope="module")
def on_kafka(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Played:
    return Played(kafka_bootstrap, tmp_path_factory.mktemp("on-kafka"), settle_s=5.0)


@pytest.mark.parametrize(("transcript", "number"), commands(*ON_BOTH))
def test_on_ottla(on_ottla: Played, transcript: str, number: int) -> None:
    assert_same(on_ottla.printed(transcript, number), steps_of(transcript)[number])


@pytest.mark.java
@pytest.mark.parametrize(("transcript", "number"), commands(*ON_BOTH, *ON_KAFKA_ALONE))
def test_on_kafka(on_kafka: Played, transcript: str, number: int) -> None:
    assert_same(on_kafka.printed(transcript, number), steps_of(transcript)[number])


def assert_same(printed: Printed, step: Step) -> None:
    assert step.expected is not None
    if not step.agrees(printed):
        assert printed == comparable(step.expected, RECORDED_AT)
