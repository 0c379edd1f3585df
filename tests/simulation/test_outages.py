"""Outages of a whole site: what was acknowledged is there again, and nobody who cannot know leads in between."""

import pytest

from tests.simulation.outages import OUTAGES, tell


@pytest.mark.parametrize("name", OUTAGES)
def test_nothing_acknowledged_is_lost(name: str) -> None:
    assert tell(OUTAGES[name]) == []
