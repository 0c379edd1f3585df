"""Orders meet their payments within an hour; an order that nobody pays comes out too, then (left join)."""

from typing import Any

from ottla.streams import JoinWindows, StreamsBuilder

HOUR_MS = 60 * 60 * 1000


def settle(order: dict[str, Any], payment: dict[str, Any] | None) -> dict[str, Any]:
    """An order with what became of it."""
    if payment is None:
        return {**order, "state": "unpaid"}
    return {**order, "state": "paid" if payment["amount"] >= order["amount"] else "short"}


b = StreamsBuilder()
orders = b.stream("orders", key="string", value="json")
payments = b.stream("payments", key="string", value="json")
orders.left_join(payments, settle, JoinWindows(HOUR_MS)).to(
    "settled-orders", key="string", value="json"
)

topology = b.build()
