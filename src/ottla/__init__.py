"""ottla: Kafka's log, retold in Python.

`Producer`, `Consumer` and `Admin` are clients of any Kafka cluster; each has an asynchronous twin. They
are imported when they are first used, so that a command which needs one of them waits for no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ottla._version import __version__

if TYPE_CHECKING:
    from ottla.base.errors import ApiError, ConfigError, OttlaError
    from ottla.base.ids import TopicPartition
    from ottla.client.admin import Admin as AsyncAdmin
    from ottla.client.administration.access import (
        Acl,
        AclFilter,
        AclOperation,
        AclPattern,
        AclPermission,
        AclResource,
    )
    from ottla.client.administration.brokers import UpgradeType
    from ottla.client.administration.configs import (
        AlterOperation,
        ConfigChange,
        ConfigResource,
        ResourceType,
    )
    from ottla.client.administration.credentials import ScramCredential, ScramMechanism
    from ottla.client.administration.groups import LeavingMember
    from ottla.client.administration.quotas import QuotaFilter, QuotaMatch
    from ottla.client.administration.topics import CreatedTopic, NewPartitions, NewTopic
    from ottla.client.async_consumer import AsyncConsumer
    from ottla.client.async_producer import AsyncProducer
    from ottla.client.consumer import Consumer
    from ottla.client.consumer_record import ConsumerRecord
    from ottla.client.consuming import OffsetAndTimestamp
    from ottla.client.delivery import Delivery, RecordMetadata
    from ottla.client.errors import (
        AuthenticationFailed,
        ClientError,
        RequestTimedOut,
        UnreadableRecord,
    )
    from ottla.client.membership import Standing as GroupMetadata
    from ottla.client.positions import OffsetAndMetadata
    from ottla.client.producer import Producer
    from ottla.client.sync_admin import SyncAdmin as Admin

_WHERE = {
    "Acl": ("ottla.client.administration.access", "Acl"),
    "AclFilter": ("ottla.client.administration.access", "AclFilter"),
    "AclOperation": ("ottla.client.administration.access", "AclOperation"),
    "AclPattern": ("ottla.client.administration.access", "AclPattern"),
    "AclPermission": ("ottla.client.administration.access", "AclPermission"),
    "AclResource": ("ottla.client.administration.access", "AclResource"),
    "Admin": ("ottla.client.sync_admin", "SyncAdmin"),
    "AlterOperation": ("ottla.client.administration.configs", "AlterOperation"),
    "ApiError": ("ottla.base.errors", "ApiError"),
    "AsyncAdmin": ("ottla.client.admin", "Admin"),
    "AsyncConsumer": ("ottla.client.async_consumer", "AsyncConsumer"),
    "AsyncProducer": ("ottla.client.async_producer", "AsyncProducer"),
    "AuthenticationFailed": ("ottla.client.errors", "AuthenticationFailed"),
    "ClientError": ("ottla.client.errors", "ClientError"),
    "ConfigChange": ("ottla.client.administration.configs", "ConfigChange"),
    "ConfigError": ("ottla.base.errors", "ConfigError"),
    "ConfigResource": ("ottla.client.administration.configs", "ConfigResource"),
    "Consumer": ("ottla.client.consumer", "Consumer"),
    "ConsumerRecord": ("ottla.client.consumer_record", "ConsumerRecord"),
    "CreatedTopic": ("ottla.client.administration.topics", "CreatedTopic"),
    "Delivery": ("ottla.client.delivery", "Delivery"),
    "GroupMetadata": ("ottla.client.membership", "Standing"),
    "LeavingMember": ("ottla.client.administration.groups", "LeavingMember"),
    "NewPartitions": ("ottla.client.administration.topics", "NewPartitions"),
    "NewTopic": ("ottla.client.administration.topics", "NewTopic"),
    "OffsetAndMetadata": ("ottla.client.positions", "OffsetAndMetadata"),
    "OffsetAndTimestamp": ("ottla.client.consuming", "OffsetAndTimestamp"),
    "OttlaError": ("ottla.base.errors", "OttlaError"),
    "Producer": ("ottla.client.producer", "Producer"),
    "QuotaFilter": ("ottla.client.administration.quotas", "QuotaFilter"),
    "QuotaMatch": ("ottla.client.administration.quotas", "QuotaMatch"),
    "RecordMetadata": ("ottla.client.delivery", "RecordMetadata"),
    "RequestTimedOut": ("ottla.client.errors", "RequestTimedOut"),
    "ResourceType": ("ottla.client.administration.configs", "ResourceType"),
    "ScramCredential": ("ottla.client.administration.credentials", "ScramCredential"),
    "ScramMechanism": ("ottla.client.administration.credentials", "ScramMechanism"),
    "TopicPartition": ("ottla.base.ids", "TopicPartition"),
    "UnreadableRecord": ("ottla.client.errors", "UnreadableRecord"),
    "UpgradeType": ("ottla.client.administration.brokers", "UpgradeType"),
}

__all__ = [
    "Acl",
    "AclFilter",
    "AclOperation",
    "AclPattern",
    "AclPermission",
    "AclResource",
    "Admin",
    "AlterOperation",
    "ApiError",
    "AsyncAdmin",
    "AsyncConsumer",
    "AsyncProducer",
    "AuthenticationFailed",
    "ClientError",
    "ConfigChange",
    "ConfigError",
    "ConfigResource",
    "Consumer",
    "ConsumerRecord",
    "CreatedTopic",
    "Delivery",
    "GroupMetadata",
    "LeavingMember",
    "NewPartitions",
    "NewTopic",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OttlaError",
    "Producer",
    "QuotaFilter",
    "QuotaMatch",
    "RecordMetadata",
    "RequestTimedOut",
    "ResourceType",
    "ScramCredential",
    "ScramMechanism",
    "TopicPartition",
    "UnreadableRecord",
    "UpgradeType",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'ottla' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _WHERE[name]
    found = globals()[name] = getattr(import_module(module), attribute)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
