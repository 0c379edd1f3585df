"""Runs what holds for the tree with both of its engines."""

from pathlib import Path

import pytest

from .engines import Engine, Sqlite, Zookeeper


@pytest.fixture(params=["sqlite", "zookeeper"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    """Runs a test once with each engine."""
    if request.param == "sqlite":
        return Sqlite(tmp_path / "tree")
    from tests.support.zookeeper import new_chroot

    return Zookeeper(request.getfixturevalue("zookeeper").connect, new_chroot())
