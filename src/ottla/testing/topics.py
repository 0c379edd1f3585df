"""Fresh topics for tests."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Final

from ottla.client.administration.topics import NewTopic
from ottla.client.sync_admin import SyncAdmin

_NOT_OF_A_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST: Final = 200


class Topic(str):
    """The name of a topic, and how many partitions it was made with."""

    __slots__ = ("partitions",)

    partitions: int

    def __new__(cls, name: str, partitions: int) -> Topic:
        made = super().__new__(cls, name)
        made.partitions = partitions
        return made


def fresh_name(like: str = "topic") -> str:
    """A name that no topic has, and that tells where it comes from."""
    readable = _NOT_OF_A_NAME.sub("-", like)[:_LONGEST].strip("-")
    return f"{readable or 'topic'}-{secrets.token_hex(4)}"


def create_topic(
    bootstrap_servers: str,
    name: str,
    partitions: int,
    replication_factor: int,
    configs: Mapping[str, object],
) -> Topic:
    """Make a topic that can be used when this returns; keyword names may stand for dotted ones."""
    texts = {dotted(key): text(value) for key, value in configs.items()}
    wanted = NewTopic(name, partitions, replication_factor, configs=texts)
    with SyncAdmin({"bootstrap.servers": bootstrap_servers}) as admin:
        admin.create_topics([wanted])
    return Topic(name, partitions)


def delete_topics(bootstrap_servers: str, names: list[Topic]) -> None:
    """Delete topics; those that a test has deleted itself are gone already."""
    with SyncAdmin({"bootstrap.servers": bootstrap_servers}) as admin:
        admin.delete_topics(names)


def dotted(name: str) -> str:
    """A setting's name as Kafka writes it: cleanup.policy for cleanup_policy."""
    return name.replace("_", ".")


def text(value: object) -> str:
    """A setting's value as Kafka writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
