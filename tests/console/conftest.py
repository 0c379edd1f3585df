"""One browser and one service for the session; a topic, a group and hostile records to look at."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

import ottla
from ottla.client.administration.topics import NewTopic
from tests.support.browser import chromium, opened
from tests.support.http_service import HttpService
from tests.support.requirements import requires

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """Chromium, no longer than its module: while Playwright is open, no other test of this process can run a loop."""
    requires("chromium")
    with chromium() as running:
        yield running


@pytest.fixture(scope="session")
def console(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpService]:
    """`ottla http`."""
    settings = {"ottla.http.sample.interval.ms": "500"}
    with HttpService(bootstrap, tmp_path_factory.mktemp("console"), settings) as service:
        yield service


@pytest.fixture
def page(browser: "Browser", console: HttpService) -> "Iterator[Page]":
    """A page of a desk's size."""
    with opened(browser, console.url, viewport={"width": 1280, "height": 860}) as found:
        yield found


@pytest.fixture(scope="session")
def shop(bootstrap: str) -> tuple[str, str]:
    """A topic of 40 records, and a group that has read half of it."""
    topic, group = f"shop-{uuid4().hex[:6]}", f"till-{uuid4().hex[:6]}"
    settings = {"bootstrap.servers": bootstrap}
    with ottla.Admin(settings) as admin:
        admin.create_topics([NewTopic(topic, 2, 1)])
    with ottla.Producer(settings) as producer:
        for n in range(40):
            value = json.dumps({"order": n, "amount": n * 10}).encode()
            producer.send(topic, value, f"customer {n}".encode(), partition=n % 2)
        producer.send(
            topic,
            HOSTILE.encode(),
            HOSTILE.encode(),
            partition=0,
            headers=[(HOSTILE, HOSTILE.encode())],
        )
    with ottla.Admin(settings) as admin:
        from ottla.client.administration.group_offsets import CommittedOffset

        at = {ottla.TopicPartition(topic, p): CommittedOffset(10) for p in (0, 1)}
        admin.alter_group_offsets(group, at)
    return topic, group
