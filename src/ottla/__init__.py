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
    from ottla.client.async_consumer import AsyncConsumer
    from ottla.client.async_producer import AsyncProducer
    from ottla.client.consumer import Consumer
    from ottla.client.consumer_record import ConsumerRecord
    from ottla.client.consuming import OffsetAndTimestamp
    from ottla.client.delivery import Delivery, RecordMetadata
    from ottla.client.errors import AuthenticationFailed, ClientError, UnreadableRecord
    from ottla.client.positions import OffsetAndMetadata
    from ottla.client.producer import Producer
    from ottla.client.sync_admin import SyncAdmin as Admin

_WHERE = {
    "Admin": ("ottla.client.sync_admin", "SyncAdmin"),
    "ApiError": ("ottla.base.errors", "ApiError"),
    "AsyncAdmin": ("ottla.client.admin", "Admin"),
    "AsyncConsumer": ("ottla.client.async_consumer", "AsyncConsumer"),
    "AsyncProducer": ("ottla.client.async_producer", "AsyncProducer"),
    "AuthenticationFailed": ("ottla.client.errors", "AuthenticationFailed"),
    "ClientError": ("ottla.client.errors", "ClientError"),
    "ConfigError": ("ottla.base.errors", "ConfigError"),
    "Consumer": ("ottla.client.consumer", "Consumer"),
    "ConsumerRecord": ("ottla.client.consumer_record", "ConsumerRecord"),
    "Delivery": ("ottla.client.delivery", "Delivery"),
    "OffsetAndMetadata": ("ottla.client.positions", "OffsetAndMetadata"),
    "OffsetAndTimestamp": ("ottla.client.consuming", "OffsetAndTimestamp"),
    "OttlaError": ("ottla.base.errors", "OttlaError"),
    "Producer": ("ottla.client.producer", "Producer"),
    "RecordMetadata": ("ottla.client.delivery", "RecordMetadata"),
    "TopicPartition": ("ottla.base.ids", "TopicPartition"),
    "UnreadableRecord": ("ottla.client.errors", "UnreadableRecord"),
}

__all__ = [
    "Admin",
    "ApiError",
    "AsyncAdmin",
    "AsyncConsumer",
    "AsyncProducer",
    "AuthenticationFailed",
    "ClientError",
    "ConfigError",
    "Consumer",
    "ConsumerRecord",
    "Delivery",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OttlaError",
    "Producer",
    "RecordMetadata",
    "TopicPartition",
    "UnreadableRecord",
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
