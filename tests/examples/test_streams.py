"""The stream applications of examples/streams, in the test driver."""

import runpy
from pathlib import Path

import pytest

from ottla.streams import Topology, TopologyTestDriver

EXAMPLES = Path(__file__).parents[2] / "examples" / "streams"
MINUTE_MS = 60_000


def topology(name: str) -> Topology:
    found = runpy.run_path(str(EXAMPLES / f"{name}.py"))["topology"]
    assert isinstance(found, Topology)
    return found


def driver(name: str) -> TopologyTestDriver:
    return TopologyTestDriver(topology(name))


def test_words_are_counted() -> None:
    words = driver("word_count")
    words.input("lines").send(None, "Tea, and more tea!")
    words.input("lines").send(None, None)
    assert words.output("words").read_map() == {"tea": 2, "and": 1, "more": 1}


def test_page_views_meet_their_user_as_the_table_is_then() -> None:
    views = driver("page_views_by_region")

    views.input("users").send_bytes(b"ada", b'{"name":"Ada","region":"north"}')
    views.input("page-views").send_bytes(b"ada", b'{"page":"/"}')
    views.input("users").send_bytes(b"ada", b'{"name":"Ada","region":"south"}')
    views.input("page-views").send_bytes(b"ada", b'{"page":"/"}')
    views.input("page-views").send_bytes(b"bob", b'{"page":"/"}')
    assert views.output("views-by-region").read_map() == {"north": 1, "south": 1, "unknown": 1}


def test_a_pause_of_half_an_hour_ends_a_visit() -> None:
    visits = driver("click_sessions")
    clicks = visits.input("clicks")
    for minute, page in [(0, "/"), (20, "/tea"), (45, "/cart"), (90, "/")]:
        clicks.send("ada", {"page": page}, minute * MINUTE_MS)
    assert [(record.key, record.value) for record in visits.output("visits").read()] == [
        (
            "ada",
            {
                "began_ms": 0,
                "ended_ms": 45 * MINUTE_MS,
                "visit": {"clicks": 3, "first": "/", "last": "/cart"},
            },
        )
    ]


def test_a_card_that_is_used_too_often_is_told_once_for_each_window() -> None:
    alerts = driver("fraud_alerts")
    for second in (50, 51, 52, 53, 54):
        alerts.input("card-payments").send("card-1", {"amount": 10}, second * 1_000)
    alerts.input("card-payments").send("card-2", {"amount": 10}, 55_000)
    alerts.input("card-payments").send("card-1", {"amount": "ten"}, 56_000)
    told = alerts.output("alerts").read()
    assert {record.key for record in told} == {"card-1"}
    assert [record.value["since_ms"] for record in told] == [
        0,
        10_000,
        20_000,
        30_000,
        40_000,
        50_000,
    ]


def test_orders_are_paid_short_or_never() -> None:
    settled = driver("orders_and_payments")
    orders, payments = settled.input("orders"), settled.input("payments")
    for order in ("a", "b", "c"):
        orders.send(order, {"amount": 10}, 0)
    payments.send("a", {"amount": 10}, 10)
    payments.send("b", {"amount": 5}, MINUTE_MS)
    payments.send("d", {"amount": 5}, 120 * MINUTE_MS)
    states = {
        key: value["state"] for key, value in settled.output("settled-orders").read_map().items()
    }
    assert states == {"a": "paid", "b": "short", "c": "unpaid"}


def test_totals_follow_orders_and_customers() -> None:
    totals = driver("order_totals")
    orders, customers = totals.input("orders"), totals.input("customers")
    customers.send("1", {"name": "Ada"})
    orders.send("o1", {"customer_id": "1", "amount": 5})
    orders.send("o2", {"customer_id": "1", "amount": 7})
    orders.send("o3", {"customer_id": "2", "amount": 1})
    assert totals.store("totals").all() == [("Ada", {"total": 12, "orders": 2})]
    customers.send("1", {"name": "Ada Lovelace"})
    orders.send("o2", {"customer_id": "1", "amount": 8})
    orders.send("o1", None)
    customers.send("2", {"name": "Bob"})
    assert totals.store("totals").all() == [
        ("Ada", {"total": None, "orders": 0}),
        ("Ada Lovelace", {"total": 8, "orders": 1}),
        ("Bob", {"total": 1, "orders": 1}),
    ]


def test_dead_letters_go_back_repaired() -> None:
    again = driver("redrive_dead_letters")
    headers = [
        ("trace", b"7"),
        ("ottla.error.reason", b"TypeError"),
        ("ottla.origin.topic", b"orders"),
    ]
    letters = again.input("shop-dead-letters")
    letters.send(b"ada", b'{"amount":"12.5"}', 5, headers)
    letters.send(b"bob", b'{"amount":"many"}', 6, headers)
    (order,) = again.output("orders").read()
    assert (order.key, order.value, order.timestamp_ms) == (b"ada", b'{"amount": 12.5}', 5)
    assert order.header("trace") == b"7"
    assert order.header("ottla.error.reason") is None


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_every_example_can_be_drawn(name: str) -> None:
    picture = topology(name).svg()
    assert picture.startswith("<svg")
    assert picture.count("Sub-topology") == topology(name).describe().count("Sub-topology")
