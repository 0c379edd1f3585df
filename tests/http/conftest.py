"""One service for the session, in front of the session's broker."""

from collections.abc import Iterator
from contextlib import closing
from uuid import uuid4

import pytest

from tests.support.http_service import HttpService, Rest


@pytest.fixture(scope="session")
def service(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpService]:
    """`ottla http`."""
    settings = {"ottla.http.sample.interval.ms": "500"}
    with HttpService(bootstrap, tmp_path_factory.mktemp("http"), settings) as running:
        yield running


@pytest.fixture(scope="session")
def rest(service: HttpService) -> Iterator[Rest]:
    """A client of it."""
    with closing(Rest(service)) as client:
        yield client


@pytest.fixture
def orders(rest: Rest) -> str:
    """A fresh topic of two partitions."""
    name = f"orders-{uuid4().hex[:8]}"
    rest.ok("POST", "c/topics", {"topic_name": name, "partitions_count": 2})
    return name
