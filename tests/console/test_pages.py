"""What people do in the console."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

import ottla
from ottla.client.administration.topics import NewTopic
from tests.console.conftest import HOSTILE
from tests.support.broker import OttlaBroker
from tests.support.browser import opened
from tests.support.http_service import HttpService

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.compat


def every_page(topic: str, group: str) -> list[str]:
    return [
        "/ui/", "/ui/topics", f"/ui/topics/{topic}", f"/ui/topics/{topic}/records", "/ui/groups",
        f"/ui/groups/{group}?time=1h", "/ui/brokers", "/ui/brokers/1", "/ui/doctor",
        f"/ui/doctor?topic={topic}&group={group}", f"/ui/find?topic={topic}&offset=3", "/ui/audit", "/docs/",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        {"viewport": {"width": 1280, "height": 860}, "color_scheme": "dark"},
        {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
    ],
    ids=["dark", "phone"],
)
def test_every_page_fits_and_complains_of_nothing(
    browser: "Browser", console: HttpService, shop: tuple[str, str], options: dict[str, object]
) -> None:
    with opened(browser, console.url, **options) as page:
        for path in every_page(*shop):
            page.goto(path)
            assert page.locator("h1").count() == 1, path
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
            assert page.locator("main, body > main").count() == 1


def test_a_list_of_many_pages_leaves_its_buttons_free(page: "Page", bootstrap: str) -> None:
    names = [f"many-{uuid4().hex[:6]}-{number}" for number in range(120)]
    with ottla.Admin(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(name, 1) for name in names])
        page.goto("/ui/topics")
        page.get_by_placeholder("part of a name").fill(names[0])
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name=names[0], exact=True).click()
        admin.delete_topics(names)


def test_a_browser_without_javascript_can_read(
    browser: "Browser", console: HttpService, shop: tuple[str, str]
) -> None:
    topic, group = shop
    with opened(browser, console.url, java_script_enabled=False) as page:
        page.goto("/")
        assert page.url.endswith("/ui/")
        page.get_by_role("link", name="Topics", exact=True).click()
        page.get_by_placeholder("part of a name").fill(topic)
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name=topic).click()
        assert page.get_by_role("link", name=group).count() == 1
        page.get_by_role("link", name="Records", exact=True).click()
        page.get_by_role("textbox", name="Key", exact=True).first.fill("customer 7")
        page.get_by_role("button", name="Look").click()
        assert page.locator("#records tr").count() == 1


def test_a_topic_is_made_changed_and_deleted_by_keyboard(page: "Page") -> None:
    name = f"typed-{uuid4().hex[:6]}"
    page.goto("/ui/")
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_url("**/ui/topics")
    page.get_by_role("button", name="New topic").focus()
    page.keyboard.press("Enter")
    page.keyboard.type(name)
    page.keyboard.press("Tab")
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/ui/topics/{name}")
    assert page.locator("#partitions tbody tr").count() == 3
    row = page.locator("tr", has=page.get_by_text("retention.ms", exact=True))
    row.get_by_role("button", name="change").click()
    page.locator("#edit-value").fill("3600000")
    page.keyboard.press("Enter")
    page.locator("tr", has=page.get_by_text("retention.ms", exact=True)).get_by_text(
        "3600000"
    ).wait_for()
    page.get_by_role("button", name="Delete").first.click()
    delete = page.locator("#delete").get_by_role("button", name="Delete")
    page.get_by_label("Type its name").fill(name[:-1])
    assert delete.is_disabled()
    page.get_by_label("Type its name").fill(name)
    delete.click()
    page.wait_for_url("**/ui/topics")
    page.goto("/ui/audit")
    assert page.get_by_text("DELETE /v3/clusters/").first.is_visible()


def test_records_are_filtered_and_a_flaw_is_pointed_at(page: "Page", shop: tuple[str, str]) -> None:
    topic, _ = shop
    page.goto(f"/ui/topics/{topic}/records")
    page.get_by_label("Filter").fill("value.amount >= 380")
    page.get_by_role("button", name="Look").click()
    assert page.locator("#records tr").count() == 2
    page.get_by_label("Filter").fill("value.amount >")
    page.get_by_role("button", name="Look").click()
    assert page.locator("#flaw pre").inner_text().endswith(" " * 14 + "^")


def test_values_are_shown_as_text(page: "Page", shop: tuple[str, str]) -> None:
    topic, _ = shop
    for path in (f"/ui/topics/{topic}/records?partition=0", f"/ui/find?topic={topic}&offset=20"):
        page.goto(path)
        assert page.get_by_text(HOSTILE).count() >= 2
        assert "owned" not in page.title()
    page.goto(f"/ui/topics?q={HOSTILE}")
    assert HOSTILE in page.locator("#list").inner_text()


def test_a_record_is_written_and_seen_live(page: "Page") -> None:
    page.goto("/ui/topics")
    page.get_by_role("button", name="New topic").click()
    name = f"live-{uuid4().hex[:6]}"
    page.locator("#create").get_by_label("Name").fill(name)
    page.locator("#create").get_by_role("button", name="Create").click()
    page.wait_for_url(f"**/ui/topics/{name}")
    page.goto(f"/ui/topics/{name}/records")
    with page.expect_response(re.compile("format=sse")):
        page.get_by_role("button", name="Live").click()
    page.get_by_role("button", name="Write").click()
    page.locator("#produce").get_by_label("Key", exact=True).fill("k")
    page.locator("#produce").get_by_label("Value", exact=True).fill('{"hello": "there"}')
    page.locator("#produce").get_by_label("Headers").fill("source=test")
    page.locator("#produce").get_by_role("button", name="Write").click()
    page.get_by_text("Written to partition").wait_for()
    page.locator("#records").get_by_text('"hello": "there"').wait_for()
    assert "source=test" in page.locator("#records").inner_text()


def test_a_group_is_moved_after_a_preview_and_back(
    page: "Page", shop: tuple[str, str], ottla_only: None
) -> None:
    _, group = shop
    page.goto(f"/ui/groups/{group}")
    page.get_by_role("button", name="Earliest").click()
    page.get_by_role("button", name="Preview").click()
    page.locator("#moves[open]").wait_for()
    assert page.locator("#moves-rows tr").count() == 2
    assert "-10" in page.locator("#moves-rows").inner_text()
    page.get_by_role("button", name="Move", exact=True).click()
    page.locator("#grid tr[data-now='0']").first.wait_for()
    page.get_by_role("button", name="Undo the last move").click()
    page.locator("#moves[open]").wait_for()
    page.get_by_role("button", name="Move", exact=True).click()
    page.locator("#grid tr[data-now='10']").first.wait_for()


def test_where_is_my_message(page: "Page", shop: tuple[str, str]) -> None:
    topic, group = shop
    page.goto("/ui/find")
    page.get_by_label("Topic").fill(topic)
    page.get_by_role("textbox", name="Key", exact=True).first.fill("customer 7")
    page.get_by_role("button", name="Find").click()
    row = page.locator("tr", has=page.get_by_role("link", name=group))
    assert "yes" in row.inner_text()
    page.get_by_role("textbox", name="Key", exact=True).first.fill("customer 30")
    page.get_by_role("button", name="Find").click()
    row = page.locator("tr", has=page.get_by_role("link", name=group))
    assert "not yet" in row.inner_text()


def test_light_and_dark_are_remembered(page: "Page") -> None:
    page.goto("/ui/")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="light / dark").click()
    after = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert before != after
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == after


def test_a_cluster_that_is_down_is_said_and_the_page_comes_back(
    browser: "Browser",
    own_broker: Callable[..., OttlaBroker],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    broker = own_broker()
    directory = tmp_path_factory.mktemp("console-down")
    with HttpService(broker.bootstrap, directory) as service:
        context = browser.new_context(base_url=service.url)
        page = context.new_page()
        page.goto("/ui/brokers")
        assert page.get_by_role("heading", name="Brokers").is_visible()
        broker.kill()
        page.locator("#stale:not([hidden])").wait_for(timeout=60_000)
        assert page.locator("#list tbody tr").count() == 1
        broker.start()
        page.locator("#stale[hidden]").wait_for(timeout=60_000, state="attached")
        context.close()
