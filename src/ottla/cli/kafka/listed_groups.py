"""What `kafka-consumer-groups --list` prints, and which groups `--all-groups` means."""

from __future__ import annotations

from typing import Final

from ottla.cli.kafka.java_order import strings_in_order
from ottla.cli.kafka.options import Given, UsageError
from ottla.cli.kafka.tables import lines
from ottla.client.administration.groups import (
    CLASSIC_TYPE,
    CONSUMER_TYPE,
    GroupListing,
    Groups,
)

_STATES: Final = (
    "Reconciling",
    "Dead",
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Empty",
    "Assigning",
)
_TYPES: Final = (CONSUMER_TYPE, CLASSIC_TYPE)
# A group that nobody ever joined has no protocol.
_PROTOCOLS: Final = ("", "consumer")
_LEAST_WIDTH: Final = 15
_EXTRA_WIDTH: Final = 10
_WIDTH: Final = 20


async def list_consumer_groups(admin: Groups, given: Given) -> None:
    """Print the groups, with their types and states where asked for."""
    states = _named(given.value("state"), _STATES, "Invalid state list", "Valid states are")
    types = _named(given.value("type"), _TYPES, "Invalid types list", "Valid types are")
    found = await listings(admin, states, types or list(_TYPES))
    if not given.has("state") and not given.has("type"):
        print("".join(f"{group}\n" for group in found), end="")
        return
    columns = ["GROUP"]
    if given.has("type"):
        columns.append("TYPE")
    if given.has("state"):
        columns.append("STATE")
    rows = [
        [{"GROUP": name, "TYPE": each.type, "STATE": each.state}[column] for column in columns]
        for name, each in found.items()
    ]
    first = max([_LEAST_WIDTH, *map(len, found)]) + _EXTRA_WIDTH
    widths = [first, *[-_WIDTH] * (len(columns) - 1)]
    print("\n".join(lines(widths, [columns, *rows])))


async def chosen_groups(admin: Groups, given: Given) -> list[str]:
    """The groups that --group and --all-groups mean."""
    if given.has("all-groups"):
        return list(await listings(admin, [], list(_TYPES)))
    return given.values("group")


async def listings(admin: Groups, states: list[str], types: list[str]) -> dict[str, GroupListing]:
    """The consumer groups by name, in the order in which Kafka shows them."""
    listed = await admin.list_groups(states=states, types=types, protocol_types=_PROTOCOLS)
    found = {each.group_id: each for each in listed}
    return {name: _told(found[name]) for name in strings_in_order(found)}


def _told(group: GroupListing) -> GroupListing:
    # Brokers write types in small letters.
    return group._replace(type=group.type.capitalize() or "Unknown", state=group.state or "Unknown")


def _named(text: str | None, known: tuple[str, ...], refusal: str, rest: str) -> list[str]:
    """The names in a list of them, whatever their case."""
    if not text:
        return []
    by_lower_case = {name.lower(): name for name in known}
    wanted = [by_lower_case.get(name.strip().lower()) for name in text.split(",")]
    if None in wanted:
        raise UsageError(f"{refusal} '{text}'. {rest}: {', '.join(known)}")
    return [name for name in wanted if name is not None]
