"""What `kafka-consumer-groups --delete` and `--delete-offsets` do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.cli.kafka.java_names import java_text, kafka_message
from ottla.cli.kafka.java_order import partitions_in_order, strings_in_order
from ottla.cli.kafka.listed_groups import chosen_groups
from ottla.cli.kafka.options import Given
from ottla.cli.kafka.reset_scope import given_partitions
from ottla.cli.kafka.tables import lines
from ottla.client.administration.group_offsets import GroupOffsets
from ottla.client.administration.groups import Groups
from ottla.client.administration.topics import Topics
from ottla.protocol.errors import ErrorCode

_NO_PARTITION: Final = -1
_OF_THE_GROUP: Final = (
    ErrorCode.INVALID_GROUP_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.NON_EMPTY_GROUP,
)
_OF_PARTITIONS: Final = (
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


class DeletingAdmin(Topics, Groups, GroupOffsets):
    """What deleting groups and their offsets asks for."""


async def delete(admin: DeletingAdmin, given: Given) -> None:
    """Delete groups, and tell which could not be."""
    names = await chosen_groups(admin, given)
    results = await admin.delete_groups(names)
    failed = {name: why for name, why in results.items() if isinstance(why, ApiError)}
    deleted = _quoted(results.keys() - failed.keys())
    if not failed:
        print(f"Deletion of requested consumer groups ({deleted}) was successful.")
        return
    print("\nError: Deletion of some consumer groups failed:")
    for name in strings_in_order(failed):
        print(f"* Group '{name}' could not be deleted due to: {java_text(failed[name])}")
    if deleted:
        print(f"\nThese consumer groups were deleted successfully: {deleted}")


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in strings_in_order(names))


async def delete_offsets(admin: DeletingAdmin, given: Given) -> None:
    """Delete what a group has committed for some topics."""
    group = given.value("group") or ""
    found = await given_partitions(admin, given.values("topic"))
    results: dict[TopicPartition, ApiError | None] = {
        TopicPartition(topic, _NO_PARTITION): why for topic, why in found.unknown.items()
    }
    refused = None
    try:
        deleted = await admin.delete_group_offsets(group, found.partitions)
        refused = next((deleted[at] for at in partitions_in_order(deleted) if deleted[at]), None)
        results |= deleted
    except ApiError as error:
        refused = error
        results |= dict.fromkeys(found.partitions, error)
    print(_verdict(group, refused))
    _print_results(results)


def _verdict(group: str, refused: ApiError | None) -> str:
    if refused is None:
        return f"Request succeeded for deleting offsets from group {group}."
    if refused.code in _OF_THE_GROUP:
        return f"\nError: {kafka_message(refused)}"
    if refused.code in _OF_PARTITIONS:
        return "\nError: Encountered some partition-level error, see the follow-up details."
    return f"\nError: Encountered some unknown error: {java_text(refused)}"


def _print_results(results: Mapping[TopicPartition, ApiError | None]) -> None:
    rows = [
        (
            at.topic,
            None if at.partition == _NO_PARTITION else at.partition,
            "Successful" if why is None else f"Error: {java_text(why)}",
        )
        # Kafka sorts by the text of both: partition 10 comes before partition 2
        for at, why in sorted(
            results.items(), key=lambda each: f"{each[0].topic}{each[0].partition}"
        )
    ]
    table = lines((15, -10, -15), [("TOPIC", "PARTITION", "STATUS"), *rows])
    print("\n" + "\n".join(table))
