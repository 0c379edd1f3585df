"""Settings of clients from options: a file, `name=value` pairs, and old spellings of both."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.kafka.command import complain
from ottla.cli.kafka.connect import read_properties
from ottla.cli.kafka.options import Given, UsageError
from ottla.client.settings import ClientSettings, is_known
from ottla.security.settings import is_about_security

if TYPE_CHECKING:
    from ottla.client.async_consumer import AsyncConsumer

_ALWAYS_THERE: Final = "__consumer_offsets"
# What a record looks like is the command's business.
_OF_RECORDS: Final = (
    "key.serializer",
    "value.serializer",
    "key.deserializer",
    "value.deserializer",
)


def pairs(texts: Sequence[str]) -> dict[str, str]:
    """The settings of `name=value` texts; one without a value is empty."""
    found = {}
    for text in texts:
        name, _, value = text.partition("=")
        found[name] = value
    return found


def renamed(given: Given, new: str, old: str, warning: str) -> str:
    """The spelling that was used; both at once are refused, the old one is warned about."""
    if given.has(old):
        print(
            f"{warning} --{old} is deprecated and will be removed in a future version. "
            f"Use --{new} instead."
        )
        return old
    return new


def refuse_both(given: Given, first: str, second: str) -> None:
    """Refuse two spellings of the same thing."""
    if given.has(first) and given.has(second):
        raise UsageError(f"Options --{first} and --{second} cannot be specified together.")


def file_and_pairs(given: Given, file_option: str, pair_option: str) -> dict[str, str]:
    """What a file says, and what single options say after it."""
    path = given.value(file_option)
    return {
        **({} if path is None else read_properties(path)),
        **pairs(given.values(pair_option)),
    }


def understood(table: type[ClientSettings], settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that a client knows; the others are told and passed over, as Kafka's clients do."""
    kept = {}
    for name, value in settings.items():
        if is_known(table, name) or is_about_security(name):
            kept[name] = value
        elif name not in _OF_RECORDS:
            sort = table.__name__.removesuffix("Settings").lower()
            complain(f"{name} is no setting of a {sort} and is ignored.")
    return kept


async def meet_brokers(consumer: AsyncConsumer, topic: str | None) -> None:
    """Fail where no broker answers: a consumer by itself would wait until one does."""
    found = await consumer.partitions_for(topic or _ALWAYS_THERE)
    if topic is not None and not found and sys.stderr.isatty():
        complain(f"There is no topic {topic} so far; waiting for it.")
