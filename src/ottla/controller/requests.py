"""Pure: what the controller is asked and what it answers: one result for each thing asked about.

An error that concerns one topic or resource is a value in its result. What fails the whole request
is raised as ApiError.
"""

import uuid
from collections.abc import Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import Final, Generic, NamedTuple, TypeVar

from ottla.base.ids import ZERO_ID
from ottla.cluster.tree import Op
from ottla.config.dynamic import Change
from ottla.protocol.errors import ErrorCode

R = TypeVar("R")

USE_DEFAULT: Final = -1
"""Asks for the broker's own number of partitions or replicas."""


class ResourceType(IntEnum):
    """What settings may belong to, by its number on the wire."""

    TOPIC = 2
    BROKER = 4
    GROUP = 32


class ManualReplicas(NamedTuple):
    """Where the client wants a partition to be."""

    partition: int
    brokers: Sequence[int]


class NewTopic(NamedTuple):
    """A topic to be made; with assignments, both numbers must be left to the default."""

    name: str
    partitions: int = USE_DEFAULT
    replication_factor: int = USE_DEFAULT
    assignments: Sequence[ManualReplicas] = ()
    configs: Mapping[str, str | None] = MappingProxyType({})


class TopicRef(NamedTuple):
    """A topic by its name or by its id, not by both."""

    name: str | None = None
    topic_id: uuid.UUID = ZERO_ID


class NewPartitions(NamedTuple):
    """A topic that shall have `total` partitions; assignments are for the new ones only."""

    name: str
    total: int
    assignments: Sequence[Sequence[int]] | None = None


class ConfigAlteration(NamedTuple):
    """Changes to the settings of one resource; with `replace`, all others go back to default.

    The resource of type BROKER with an empty name stands for all brokers.
    """

    resource_type: int
    resource_name: str
    changes: Sequence[Change]
    replace: bool = False


class TopicResult(NamedTuple):
    """What became of a topic to be made, deleted or given partitions."""

    name: str | None
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    topic_id: uuid.UUID = ZERO_ID
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = MappingProxyType({})


class ConfigResult(NamedTuple):
    """What became of the changes to one resource."""

    resource_type: int
    resource_name: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


class Decision(NamedTuple, Generic[R]):
    """What to write, in one step, and what to answer once that is done."""

    ops: Sequence[Op]
    results: Sequence[R]
