"""Consumer groups, by transcripts; OTTLA_REWRITE=1 writes down what happens instead of comparing it."""

import os
from pathlib import Path

import pytest

from tests.unit.coordination.groups.consumer_transcripts import Player

SCENARIOS = sorted((Path(__file__).parents[3] / "scenarios" / "consumer").glob("*.txt"))


@pytest.mark.parametrize("path", SCENARIOS, ids=[path.stem for path in SCENARIOS])
def test_the_transcript_is_what_happens(path: Path) -> None:
    written = path.read_text()
    played = Player().play(written)
    if os.environ.get("OTTLA_REWRITE"):
        path.write_text(played)
    assert played == written


def test_there_are_transcripts() -> None:
    assert len(SCENARIOS) >= 10
