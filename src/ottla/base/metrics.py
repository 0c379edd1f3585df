"""Pure: metrics as module-level rows: plain attributes to add to, Prometheus text to print.

    REQUESTS = counter("ottla_requests_total", "Requests handled.", labels=("api",))
    produce = REQUESTS.labels(api="Produce")  # once, at start-up
    produce.value += 1  # on the hot path

No locks: each metric belongs to the event loop that counts it.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final, Generic, TypeVar

_NAME: Final = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)

Labels = tuple[str, ...]
Rows = Iterable[tuple[Labels, float]]

SECONDS: Final = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
)  # fmt: skip
"""Bounds for durations, from a tenth of a millisecond to five seconds."""


class Value:
    """One number; `value` is public because adding to it is all that the hot path does."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0


class Distribution:
    """How many observations fell at or below each bound, and their sum."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum: float = 0

    def observe(self, amount: float) -> None:
        """Adds one observation."""
        self.counts[bisect_left(self.bounds, amount)] += 1
        self.sum += amount

    def observe_together(self, total: float, count: int) -> None:
        """Adds as many observations, which have the same share in their total."""
        self.counts[bisect_left(self.bounds, total / count)] += count
        self.sum += total


Child = TypeVar("Child", Value, Distribution)


class Metric(Generic[Child]):
    """A declared metric: its name, what it means, and a child for each set of label values."""

    __slots__ = ("_children", "_make", "_rows", "doc", "label_names", "name", "type")

    def __init__(
        self, type: str, name: str, doc: str, label_names: Labels, make: Callable[[], Child]
    ) -> None:
        self.type = type
        self.name = name
        self.doc = doc
        self.label_names = label_names
        self._make: Callable[[], Child] = make
        self._children: dict[Labels, Child] = {}
        self._rows: Callable[[], Rows] | None = None

    def labels(self, **values: object) -> Child:
        """The child for these label values, the same object each time; callers keep it."""
        if not self.label_names:
            raise ValueError(f"{self.name} has no labels; use it directly")
        return self._child(self._key(values))

    def remove(self, **values: object) -> None:
        """Forgets a child, as when its topic is deleted."""
        self._children.pop(self._key(values), None)

    def set_rows(self, rows: Callable[[], Rows]) -> None:
        """Has label values and numbers computed at each scrape instead of kept here."""
        self._rows = rows

    def samples(self) -> Iterator[tuple[str, str, float]]:
        """Yields the suffix, the labels as text and the number of every sample."""
        for key, child in self._children.items():
            if isinstance(child, Value):
                yield "", self._text(key), child.value
            else:
                yield from self._buckets(key, child)
        for key, value in self._rows() if self._rows is not None else ():
            yield "", self._text(key), value

    def _buckets(self, key: Labels, child: Distribution) -> Iterator[tuple[str, str, float]]:
        running = list(accumulate(child.counts))
        for bound, count in zip((*child.bounds, float("inf")), running, strict=True):
            yield "_bucket", self._text(key, f'le="{_number(bound)}"'), count
        yield "_sum", self._text(key), child.sum
        yield "_count", self._text(key), running[-1]

    def _child(self, key: Labels) -> Child:
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = self._make()
        return child

    def _key(self, values: dict[str, object]) -> Labels:
        if len(values) != len(self.label_names):
            raise ValueError(f"{self.name} has the labels {self.label_names}, not {list(values)}")
        return tuple(str(values[name]) for name in self.label_names)

    def _text(self, key: Labels, *more: str) -> str:
        pairs = [f'{n}="{_escaped(v)}"' for n, v in zip(self.label_names, key, strict=True)]
        pairs += more
        return "{" + ",".join(pairs) + "}" if pairs else ""


class Counter(Metric[Value]):
    """A number that only grows; without labels it is its own child."""

    __slots__ = ("value",)

    def __init__(self, type: str, name: str, doc: str, label_names: Labels) -> None:
        super().__init__(type, name, doc, label_names, Value)
        if not label_names:  # else adding to `value` is a mistake, and raises AttributeError
            self.value: float = 0

    def set_function(self, compute: Callable[[], float]) -> None:
        """Has the number computed at each scrape."""
        self.set_rows(lambda: [((), compute())])

    def samples(self) -> Iterator[tuple[str, str, float]]:
        if not self.label_names and self._rows is None:
            yield "", "", self.value
        yield from super().samples()


class Gauge(Counter):
    """A number that rises and falls; without labels it is its own child."""

    __slots__ = ()


class Histogram(Metric[Distribution]):
    """A distribution over fixed bounds; without labels it is its own child."""

    __slots__ = ("observe",)

    def __init__(self, name: str, doc: str, label_names: Labels, bounds: tuple[float, ...]) -> None:
        super().__init__("histogram", name, doc, label_names, lambda: Distribution(bounds))
        if not label_names:
            self.observe: Callable[[float], None] = self._child(()).observe


class Registry:
    """All metrics of a process, in the order of their declaration."""

    def __init__(self) -> None:
        self.metrics: dict[str, Metric[Value] | Metric[Distribution]] = {}

    def counter(self, name: str, doc: str, labels: Sequence[str] = ()) -> Counter:
        """Declares a counter; its name ends in `_total`."""
        if not name.endswith("_total"):
            raise ValueError(f"the name of counter {name} must end in _total")
        return self._add(Counter("counter", name, doc, tuple(labels)))

    def gauge(self, name: str, doc: str, labels: Sequence[str] = ()) -> Gauge:
        """Declares a gauge."""
        return self._add(Gauge("gauge", name, doc, tuple(labels)))

    def histogram(
        self, name: str, doc: str, labels: Sequence[str] = (), bounds: Sequence[float] = SECONDS
    ) -> Histogram:
        """Declares a histogram over rising bounds; the one for infinity is implied."""
        fixed = tuple(bounds)
        if not fixed or list(fixed) != sorted(set(fixed)):
            raise ValueError(f"the bounds of histogram {name} must rise")
        return self._add(Histogram(name, doc, tuple(labels), fixed))

    def render(self) -> str:
        """Prints every metric in Prometheus' text format, version 0.0.4."""
        lines: list[str] = []
        for metric in self.metrics.values():
            doc = metric.doc.replace("\\", "\\\\").replace("\n", "\\n")
            lines += (f"# HELP {metric.name} {doc}", f"# TYPE {metric.name} {metric.type}")
            lines += [f"{metric.name}{s}{labels} {_number(v)}" for s, labels, v in metric.samples()]
        return "\n".join(lines) + "\n" if lines else ""

    def _add(self, metric: "AnyMetric") -> "AnyMetric":
        if not all(_NAME.fullmatch(name) for name in (metric.name, *metric.label_names)):
            raise ValueError(f"metric {metric.name} {metric.label_names} is badly named")
        if metric.name in self.metrics:
            raise ValueError(f"metric {metric.name} is declared twice")
        self.metrics[metric.name] = metric
        return metric


AnyMetric = TypeVar("AnyMetric", Counter, Gauge, Histogram)

REGISTRY: Final = Registry()
counter: Final = REGISTRY.counter
gauge: Final = REGISTRY.gauge
histogram: Final = REGISTRY.histogram
render: Final = REGISTRY.render

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)


RATE_BUCKET_MS: Final = 10_000
RATE_BUCKETS: Final = 360


class RateRing:
    """What was added over the last hour, in 360 buckets of ten seconds.

    The bucket being filled is a plain number; the ring behind it is made when the first bucket is
    full, and holds 32-bit floats: 1.4 KB for a partition that is used, nothing for one that is not.
    """

    __slots__ = ("_bucket", "_ends_ms", "_ring", "_sum")

    def __init__(self) -> None:
        self._bucket = -1
        self._ends_ms = 0
        self._sum: float = 0
        self._ring: array[float] | None = None

    def add(self, now_ms: int, amount: float) -> None:
        """Counts an amount now; time that runs backwards counts in the newest bucket."""
        if now_ms >= self._ends_ms:
            self._turn(now_ms // RATE_BUCKET_MS)
        self._sum += amount

    def series(self, now_ms: int) -> list[float]:
        """The sums of the last 360 buckets, oldest first; the last one is still being filled."""
        newest = max(now_ms // RATE_BUCKET_MS, self._bucket)
        return [self._sum_of(bucket) for bucket in range(newest - RATE_BUCKETS + 1, newest + 1)]

    def per_second(self, now_ms: int, window_ms: int = 60_000) -> float:
        """The mean rate over the full buckets of the window that ends now."""
        newest = max(now_ms // RATE_BUCKET_MS, self._bucket)
        count = max(1, window_ms // RATE_BUCKET_MS)
        total = sum(self._sum_of(bucket) for bucket in range(newest - count, newest))
        return total * 1000 / (count * RATE_BUCKET_MS)

    def _sum_of(self, bucket: int) -> float:
        if bucket == self._bucket:
            return self._sum
        if self._ring is None or not self._bucket - RATE_BUCKETS < bucket < self._bucket:
            return 0.0
        return self._ring[bucket % RATE_BUCKETS]

    def _turn(self, bucket: int) -> None:
        """Puts the filled bucket into the ring and empties those that were skipped."""
        if self._sum and self._ring is None:
            self._ring = array("f", bytes(4 * RATE_BUCKETS))
        if self._ring is not None:
            self._ring[self._bucket % RATE_BUCKETS] = self._sum
            for skipped in range(max(self._bucket + 1, bucket - RATE_BUCKETS), bucket):
                self._ring[skipped % RATE_BUCKETS] = 0.0
        self._bucket = bucket
        self._ends_ms = (bucket + 1) * RATE_BUCKET_MS
        self._sum = 0
