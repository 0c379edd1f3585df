"""The test driver: records in, records out, clocks, stores, poison and batches."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from ottla.streams import (
    Processor,
    Record,
    RecordError,
    SessionWindows,
    StreamsBuilder,
    StreamsError,
    Suppressed,
    Timer,
    TimeWindows,
    Topology,
    TopologyError,
    TopologyTestDriver,
    Windowed,
    f,
)


def values(records: list[Record]) -> list[tuple[Any, Any, int]]:
    return [(record.key, record.value, record.timestamp_ms) for record in records]


def enriched_orders() -> Topology:
    b = StreamsBuilder()
    orders = b.stream("orders", key="string", value="json", on_error="dead-letter")
    customers = b.table("customers", key="string", value="json")
    orders.filter(f.value.amount > 50).join(
        customers, lambda order, customer: order | {"region": customer["region"]}
    ).to("enriched", key="string", value="json")
    orders.group_by_key().count(store="per-customer").to_stream().to(
        "counts", key="string", value="long"
    )
    orders.group_by_key().windowed_by(
        TimeWindows(size_ms=60_000, advance_ms=None, grace_ms=0)
    ).aggregate(
        lambda: 0, lambda key, value, total: total + value["amount"], store="per-minute"
    ).to_stream().map(lambda window, total: (f"{window.key}@{window.start_ms}", total)).to(
        "minutes", key="string", value="long"
    )
    return b.build()


def test_orders_are_enriched_and_counted() -> None:
    driver = TopologyTestDriver(enriched_orders())
    driver.input("customers").send("ada", {"region": "north"})
    orders = driver.input("orders")
    orders.send("ada", {"amount": 60}, timestamp_ms=1_000)
    orders.send("ada", {"amount": 10}, timestamp_ms=2_000)
    orders.send("bob", {"amount": 70}, timestamp_ms=61_000)
    orders.send("ada", {"amount": 5}, timestamp_ms=3_000)  # its window has closed

    assert values(driver.output("enriched").read()) == [
        ("ada", {"amount": 60, "region": "north"}, 1_000)
    ]
    assert driver.output("counts").read_map() == {"ada": 3, "bob": 1}
    assert driver.output("minutes").read_map() == {"ada@0": 70, "bob@60000": 70}
    assert driver.store("per-customer").get("ada") == 3
    assert driver.store("per-customer").range("ada", "az") == [("ada", 3)]
    assert driver.store("per-customer").prefix("b") == [("bob", 1)]
    assert driver.store("per-minute").fetch("ada") == [(Windowed("ada", 0, 60_000), 70)]
    assert driver.dropped == {"KSTREAM-AGGREGATE-0000000010: late": 1}
    assert driver.output("counts").read() == []


def test_poison_goes_to_the_dead_letters_with_its_origin() -> None:
    driver = TopologyTestDriver(enriched_orders(), application_id="shop")
    driver.input("orders").send_bytes(b"ada", b"{", 5, [("trace", b"7")])
    driver.input("orders").send("ada", {}, 6)
    unreadable, unprocessable = driver.output("shop-dead-letters").read()

    assert (unreadable.key, unreadable.value, unreadable.timestamp_ms) == (b"ada", b"{", 5)
    assert unreadable.header("trace") == b"7"
    assert unreadable.header("ottla.error.operator") == b"KSTREAM-SOURCE-0000000000"
    assert (unreadable.header("ottla.error.reason") or b"").startswith(b"SerdeError: not JSON")
    assert unreadable.header("ottla.origin.topic") == b"orders"
    assert unreadable.header("ottla.origin.partition") == b"0"
    assert unreadable.header("ottla.origin.offset") == b"0"
    assert unprocessable.header("ottla.error.reason") == b"KeyError: 'amount'"
    assert (unprocessable.header("ottla.error.stack") or b"").endswith(b"in <lambda>")
    assert driver.output("counts").read_map() == {"ada": 1}, "the other operators had it"


@pytest.mark.parametrize("policy", ["fail", "skip"])
def test_what_cannot_be_processed_stops_the_driver_or_is_skipped(policy: Any) -> None:
    b = StreamsBuilder()
    b.stream("in", value="json").map_values(lambda value: 1 / value, on_error=policy).peek(
        lambda key, value: None
    ).to("out", value="double")
    driver = TopologyTestDriver(b.build())
    if policy == "fail":
        with pytest.raises(RecordError, match="KSTREAM-MAPVALUES-0000000001: ZeroDivisionError"):
            driver.input("in").send(None, 0)
        return
    driver.input("in").send(None, 0)
    driver.input("in").send(None, 2)
    assert [record.value for record in driver.output("out").read()] == [0.5]
    assert driver.failures == {"KSTREAM-MAPVALUES-0000000001": 1}


class Reminder(Processor):
    """Counts records of a key; forwards the count a second after the first, and when nobody came for a minute."""

    def process(self, record: Record) -> None:
        seen = self.context.store("seen")
        count = (seen.get(record.key) or 0) + 1
        seen.put(record.key, count)
        if record.value == "poison":
            raise ValueError("poison")
        if count == 1:
            self.context.set_timer(record.timestamp_ms + 1_000)
        self.context.set_timer(self.context.now_ms + 60_000, "idle", clock="wall-clock")
        self.context.forward(replace(record, headers=(("seen", str(count).encode()),)))

    def on_timer(self, timer: Timer) -> None:
        count = self.context.store("seen").get(timer.key)
        self.context.forward(Record(timer.key, f"{timer.name or 'second'}:{count}", timer.at_ms))


def reminders() -> TopologyTestDriver:
    b = StreamsBuilder()
    b.add_store("seen", key="string", value="long")
    b.stream("in", key="string", value="string", on_error="skip").process(
        Reminder, stores=["seen"]
    ).to("out", key="string", value="string")
    return TopologyTestDriver(b.build())


def test_a_processor_keeps_state_and_is_called_by_timers_of_both_clocks() -> None:
    driver = reminders()
    source, out = driver.input("in"), driver.output("out")
    source.send("a", "x", 0)
    source.send("a", "y", 500)
    assert [record.header("seen") for record in out.read()] == [b"1", b"2"]
    source.send("b", "z", 1_000)
    assert values(out.read())[1:] == [("a", "second:2", 1_000)]
    driver.advance(59_999)
    assert out.read() == []
    driver.advance(1)
    assert values(out.read()) == [("a", "idle:2", 60_000), ("b", "idle:1", 60_000)]
    driver.close()


def test_a_processor_that_raises_has_changed_nothing() -> None:
    driver = reminders()
    driver.input("in").send("a", "poison", 0)
    assert driver.store("seen").get("a") is None
    driver.input("in").send("c", "x", 5_000)
    assert [record.key for record in driver.output("out").read()] == ["c"]


def test_state_of_another_key_is_out_of_reach() -> None:
    class Thief(Processor):
        def process(self, record: Record) -> None:
            self.context.store("mine").get("other")

    b = StreamsBuilder()
    b.add_store("mine", key="string")
    b.stream("in", key="string", value="string").process(Thief, stores=["mine"])
    with pytest.raises(RecordError, match="holds the state of the current key"):
        TopologyTestDriver(b.build()).input("in").send("a", "x")


def test_a_batch_hands_on_one_change_for_each_key_and_judges_lateness_by_its_beginning() -> None:
    b = StreamsBuilder()
    windows = b.stream("in", key="string", value="long").group_by_key().windowed_by(TimeWindows(10))
    windows.count().to_stream().map(lambda window, count: (window.start_ms, count)).to(
        "out", key="long", value="long"
    )
    driver = TopologyTestDriver(b.build())
    source, out = driver.input("in"), driver.output("out")
    with driver.batch():
        source.send("a", 1, 1)
        source.send("a", 1, 25)
        source.send("a", 1, 2)  # not late: the batch had not begun with 25
        assert out.read() == []
    assert sorted(values(out.read())) == [(0, 2, 2), (20, 1, 25)]
    with driver.batch():
        source.send("a", 1, 3)
    assert out.read() == []
    assert sum(driver.dropped.values()) == 1


def test_final_results_come_once_a_window_has_closed() -> None:
    b = StreamsBuilder()
    grouped = b.stream("in", key="string", value="long").group_by_key()
    for name, table in {
        "suppressed": grouped.windowed_by(TimeWindows(10, grace_ms=5))
        .count()
        .suppress(Suppressed.until_window_closes()),
        "emitted": grouped.windowed_by(TimeWindows(10, grace_ms=5))
        .emit_strategy("on-window-close")
        .count(),
        "sessions": grouped.windowed_by(SessionWindows(5)).emit_strategy("on-window-close").count(),
    }.items():
        table.to_stream().map(lambda window, count: (window.start_ms, count)).to(
            name, key="long", value="long"
        )
    driver = TopologyTestDriver(b.build())
    for time in (1, 4, 14, 3, 15, 16, 40):
        driver.input("in").send("a", 1, time)
    assert values(driver.output("suppressed").read()) == [(0, 3, 4), (10, 3, 16)]
    assert values(driver.output("emitted").read()) == [(0, 3, 4), (10, 3, 16)]
    assert values(driver.output("sessions").read()) == [(1, 2, 4), (14, 3, 16)]


def test_what_is_written_to_a_topic_that_is_read_too_comes_back() -> None:
    b = StreamsBuilder()
    numbers = b.stream("numbers", value="long")
    numbers.filter(f.value > 0).map_values(f.value - 1).to("numbers", value="long")
    numbers.to(f.when(f.value % 2 == 0, "even", "odd"), value="long")
    driver = TopologyTestDriver(b.build())
    driver.input("numbers").send(None, 3)
    assert [record.value for record in driver.output("odd").read()] == [3, 1]
    assert [record.value for record in driver.output("even").read()] == [2, 0]


def test_aggregates_in_expressions() -> None:
    b = StreamsBuilder()
    orders = b.stream("orders", key="string", value="json")
    summary = f.struct(
        total=f.sum(f.value.amount),
        mean=f.sum(f.value.amount) / f.count(f.value.amount),
        least=f.min(f.value.amount),
        most=f.max(f.value.amount),
        first=f.first(f.value.item),
        last=f.last(f.value.item),
        customer=f.upper(f.key),
    )
    orders.group_by_key().aggregate(summary, store="summary")
    table = orders.to_table()
    table.group_by((f.value.item, f.value)).aggregate(f.sum(f.value.amount), store="per-item")
    driver = TopologyTestDriver(b.build())
    for customer, item, amount in [
        ("a", "pen", 2),
        ("a", "ink", None),
        ("a", "pen", 4),
        ("b", "pen", 9),
    ]:
        driver.input("orders").send(customer, {"item": item, "amount": amount}, 1)
    assert driver.store("summary").get("a") == {
        "total": 6, "mean": 3.0, "least": 2, "most": 4, "first": "pen", "last": "pen", "customer": "A",
    }  # fmt: skip
    assert driver.store("per-item").all() == [("pen", 13)]
    driver.input("orders").send("b", None, 2)


@dataclass
class Total:
    amount: float
    orders: int = 1


def test_a_declared_result_comes_back_as_what_it_was() -> None:
    b = StreamsBuilder()
    orders = b.stream("orders", key="string", value="json")
    totals = orders.map_values(lambda order: Total(order["amount"]), returns=Total)
    (
        totals.group_by(f.key)
        .reduce(lambda one, other: Total(one.amount + other.amount, one.orders + other.orders))
        .to_stream()
        .filter(lambda key, total: total.orders > 1)
        .to("totals")
    )
    driver = TopologyTestDriver(b.build())
    for amount in (1.5, 2.0):
        driver.input("orders").send("ada", {"amount": amount})
    assert driver.output("totals").read_map() == {"ada": Total(3.5, 2)}
    with pytest.raises(TopologyError, match="has no field amont"):
        totals.filter(f.value.amont > 1)


def test_misspelt_topics_and_stores_are_named() -> None:
    driver = TopologyTestDriver(enriched_orders())
    with pytest.raises(
        StreamsError, match="does not read the topic 'order'; it reads customers, orders"
    ):
        driver.input("order")
    with pytest.raises(
        StreamsError, match="does not write the topic 'count'; it writes counts, enriched"
    ):
        driver.output("count")
    with pytest.raises(StreamsError, match="there is no store 'per-hour'"):
        driver.store("per-hour")
