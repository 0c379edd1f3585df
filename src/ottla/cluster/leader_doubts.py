"""Pure: brokers that may be dead, and brokers that left a moment ago.

A broker sees the end of its connection to a dead peer within milliseconds. The tree and the election follow some 10 ms
later; until then the image names a dead leader. librdkafka asks for metadata once when its leader's connection ends,
and again only on a timer of one second (measured 2026-11-18: gaps between acks of 0.5 and 1.5 s), so the first answer
decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from ottla.cluster.image import BrokerImage, Image

AWAITED_MS: Final = 300
"""How long an answer may wait for an election. An election takes 10 to 30 ms."""
HIDDEN_MS: Final = 2_000
"""How long a leader whose port refuses is hidden: a firewall that resets must not hide a live one for longer."""
LISTED_MS: Final = 3_000
"""How long a broker that left is still listed in Metadata.

librdkafka ends the thread of a broker that is listed no more. That thread sets the broker's partitions back to "no
leader", even where the same answer named a new one; the next query comes a second later (seen in its debug log).
"""


class Doubt(NamedTuple):
    """Doubt about one registration of a broker; `refused_ms` once its port has refused a connection."""

    epoch: int
    since_ms: float
    refused_ms: float | None = None


class Departure(NamedTuple):
    """A broker as it was registered, and when the registration went."""

    broker: BrokerImage
    at_ms: float


class LeaderDoubts:
    """What connections to other brokers tell about them before the tree does."""

    __slots__ = ("_departed", "_doubted", "_known")

    def __init__(self) -> None:
        self._known: Mapping[int, BrokerImage] = {}
        self._doubted: dict[int, Doubt] = {}
        self._departed: dict[int, Departure] = {}

    def connection_lost(self, broker_id: int, epoch: int, now_ms: float) -> None:
        """Doubt a broker: the connection to it has ended."""
        self._doubted.setdefault(broker_id, Doubt(epoch, now_ms))

    def port_refused(self, broker_id: int, epoch: int, now_ms: float) -> None:
        """Take a broker for dead: its connection has ended and nobody listens on its port."""
        doubt = self._doubted.get(broker_id)
        since_ms = doubt.since_ms if doubt is not None and doubt.epoch == epoch else now_ms
        if doubt is None or doubt.epoch != epoch or doubt.refused_ms is None:
            self._doubted[broker_id] = Doubt(epoch, since_ms, now_ms)

    def answered(self, broker_id: int) -> None:
        """Drop the doubt about a broker that answers again."""
        self._doubted.pop(broker_id, None)

    def registered(self, brokers: Mapping[int, BrokerImage], now_ms: float) -> None:
        """Follow the image: note who left, and drop doubts about earlier registrations."""
        if brokers is self._known:
            return
        for broker_id, broker in self._known.items():
            if broker_id not in brokers:
                self._departed[broker_id] = Departure(broker, now_ms)
        self._known = brokers
        for broker_id, doubt in list(self._doubted.items()):
            current = brokers.get(broker_id)
            if current is None or current.epoch != doubt.epoch:
                del self._doubted[broker_id]
        self._departed = {
            broker_id: departure
            for broker_id, departure in self._departed.items()
            if broker_id not in brokers and now_ms - departure.at_ms < LISTED_MS
        }

    def __bool__(self) -> bool:
        """True if any broker is doubted or left lately: without one, nothing has to be asked here."""
        return bool(self._doubted or self._departed)

    def awaited(self, now_ms: float) -> frozenset[int]:
        """Return the brokers whose partitions will probably have another leader in a moment."""
        doubted = {b for b, doubt in self._doubted.items() if now_ms - doubt.since_ms < AWAITED_MS}
        left = {b for b, gone in self._departed.items() if now_ms - gone.at_ms < AWAITED_MS}
        return frozenset(doubted | left)

    def hidden(self, now_ms: float) -> frozenset[int]:
        """Return the brokers that are not named as leaders for now."""
        return frozenset(
            broker_id
            for broker_id, doubt in self._doubted.items()
            if doubt.refused_ms is not None and now_ms - doubt.refused_ms < HIDDEN_MS
        )

    def departed(self, now_ms: float) -> list[BrokerImage]:
        """Return the brokers that left lately, as they were registered."""
        return [gone.broker for gone in self._departed.values() if now_ms - gone.at_ms < LISTED_MS]


def without_brokers(image: Image, hidden: frozenset[int]) -> Image:
    """Return the image as it will be when these brokers' registrations are gone."""
    return image._replace(brokers={b: i for b, i in image.brokers.items() if b not in hidden})
