"""datagen: made-up orders, clicks and sensors at a rate; the same records for the same seed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from ottla.connect.connectors.connector import Offset, Partition, Source
from ottla.connect.data.record import Record
from ottla.connect.data.schema import (
    BOOLEAN,
    FLOAT64,
    INT32,
    INT64,
    STRING,
    Schema,
    Struct,
    struct,
)
from ottla.connect.options.table import (
    Importance,
    Kind,
    Option,
    Options,
    at_least,
    non_empty,
    one_of,
)

_CITIES: Final = ("Berlin", "Brno", "Ghent", "Graz", "Lviv", "Porto", "Praha", "Turin")
_PAGES: Final = ("/", "/basket", "/checkout", "/help", "/search")
_MOST_PER_BATCH: Final = 500_000
_EPOCH_MS: Final = 1_700_000_000_000

Make = Callable[[random.Random, int], tuple[str, list[Any]]]


def _order(rng: random.Random, number: int) -> tuple[str, list[Any]]:
    customer = f"customer-{rng.randrange(1000)}"
    amount = round(rng.lognormvariate(3.5, 0.8), 2)
    return str(number), [number, _EPOCH_MS + number * 250, customer, rng.choice(_CITIES), amount]


def _click(rng: random.Random, number: int) -> tuple[str, list[Any]]:
    user = f"user-{rng.randrange(500)}"
    return user, [user, _EPOCH_MS + number * 40, rng.choice(_PAGES), rng.randrange(10, 4000)]


def _reading(rng: random.Random, number: int) -> tuple[str, list[Any]]:
    sensor = f"sensor-{number % 50}"
    at = _EPOCH_MS + number * 100
    return sensor, [sensor, at, round(rng.gauss(21, 3), 2), rng.random() < 0.001]


_KINDS: Final[dict[str, tuple[Schema, Make]]] = {
    "orders": (
        struct(
            {
                "id": INT64,
                "ordertime": INT64,
                "customer": STRING,
                "city": STRING,
                "amount": FLOAT64,
            },
            name="ottla.datagen.Order",
        ),
        _order,
    ),
    "clicks": (
        struct(
            {"user": STRING, "at": INT64, "page": STRING, "took_ms": INT32},
            name="ottla.datagen.Click",
        ),
        _click,
    ),
    "sensors": (
        struct(
            {"sensor": STRING, "at": INT64, "celsius": FLOAT64, "alarm": BOOLEAN},
            name="ottla.datagen.Reading",
        ),
        _reading,
    ),
}
_ALIASES: Final = {"clickstream": "clicks", "pageviews": "clicks"}


class Datagen(Source):
    """Makes up records from a number and a seed, so that a batch that is repeated has the same ones."""

    options = Options(
        (
            Option(
                name="kafka.topic",
                kind=Kind.STRING,
                importance=Importance.HIGH,
                check=non_empty,
                doc="The topic to write to.",
            ),
            Option(
                name="quickstart",
                kind=Kind.STRING,
                default="orders",
                importance=Importance.HIGH,
                check=one_of(*_KINDS, *_ALIASES),
                doc="What to make up: orders, clicks or sensors.",
            ),
            Option(
                name="max.interval",
                kind=Kind.LONG,
                default=500,
                importance=Importance.HIGH,
                check=at_least(0),
                doc="The longest time between two records, in milliseconds; on average it is half of that.",
            ),
            Option(
                name="iterations",
                kind=Kind.LONG,
                default=-1,
                importance=Importance.HIGH,
                check=at_least(-1),
                doc="How many records to make in all; -1 for ever.",
            ),
            Option(
                name="random.seed",
                kind=Kind.LONG,
                default=0,
                importance=Importance.LOW,
                doc="Another seed makes other records.",
            ),
        )
    )

    def __init__(self, settings: Mapping[str, str | None]) -> None:
        super().__init__(settings)
        wanted = self.settings["quickstart"].lower()
        self._schema, self._make = _KINDS[_ALIASES.get(wanted, wanted)]
        self._began: tuple[float, int] | None = None

    def topics(self) -> Sequence[str]:
        """Return the only one."""
        return [self.settings["kafka.topic"]]

    def partitions(self) -> Sequence[Partition]:
        """Return the only one."""
        return [{"quickstart": self.settings["quickstart"]}]

    def latest(self, partition: Partition, offset: Offset | None) -> Offset | None:
        """Return how many records there are by now: the rate begins when the connector does."""
        made, now = _number(offset), time.monotonic()
        if self._began is None:
            self._began = now, made
        wanted = self.settings["max.interval"]
        due = made + _MOST_PER_BATCH
        if wanted:
            began, first = self._began
            due = min(due, first + int((now - began) * 2000 / wanted))
        if self.settings["iterations"] >= 0:
            due = min(due, self.settings["iterations"])
        return {"number": due} if due > made else None

    def read(self, partition: Partition, start: Offset | None, end: Offset) -> Iterator[Record]:
        """Make up the records between two numbers."""
        topic, seed = self.settings["kafka.topic"], self.settings["random.seed"]
        for number in range(_number(start), _number(end)):
            key, values = self._make(random.Random(seed * 1_000_003 + number), number)
            yield Record(topic, None, STRING, key, self._schema, Struct(self._schema, values))


def _number(offset: Offset | None) -> int:
    return int(offset["number"]) if offset else 0
