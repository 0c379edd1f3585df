"""A client of the session's broker."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.unit.broker.handlers.asking import Client


@pytest.fixture
def client(bootstrap: str) -> Iterator[Client]:
    """A connection of the test's own."""
    with closing(Client(bootstrap)) as connection:
        yield connection
