"""What the tests of the pipeline do to topics and groups, and ask about them."""

from __future__ import annotations

from ottla.base.errors import ApiError
from ottla.base.ids import TopicPartition
from ottla.client.administration.topics import NewPartitions
from ottla.client.sync_admin import SyncAdmin


def delete_before(bootstrap: str, topic: str, offset: int, partition: int = 0) -> None:
    """Delete records as retention would."""
    with SyncAdmin({"bootstrap.servers": bootstrap}) as client:
        [outcome] = client.delete_records({TopicPartition(topic, partition): offset}).values()
    assert outcome == offset


def add_partitions(bootstrap: str, topic: str, total: int) -> None:
    """Give a topic more partitions."""
    with SyncAdmin({"bootstrap.servers": bootstrap}) as client:
        [outcome] = client.create_partitions({topic: NewPartitions(total)}).values()
    assert not isinstance(outcome, ApiError), outcome


def delete_topic(bootstrap: str, topic: str) -> None:
    """Delete a topic."""
    with SyncAdmin({"bootstrap.servers": bootstrap}) as client:
        [outcome] = client.delete_topics([topic]).values()
    assert not isinstance(outcome, ApiError), outcome


def committed(bootstrap: str, group: str) -> dict[tuple[str, int], int]:
    """The offsets of a group."""
    with SyncAdmin({"bootstrap.servers": bootstrap}) as client:
        found = client.list_group_offsets(group)
    return {tuple(each): outcome.offset for each, outcome in found.items()}  # type: ignore[misc,union-attr]
