"""Settings as v3 shows them, of a topic, a broker or the cluster."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from ottla.client.administration.configs import (
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceType,
)
from ottla.http.rest.v3.links import Links, Resource


class ConfigSynonymData(msgspec.Struct):
    """A value that another source gives."""

    name: str
    value: str | None
    source: str


class ConfigData(Resource, kw_only=True):
    """A setting."""

    cluster_id: str
    name: str
    value: str | None
    is_default: bool
    is_read_only: bool
    is_sensitive: bool
    source: str
    synonyms: list[ConfigSynonymData]


class TopicConfigData(ConfigData, kw_only=True):
    """A setting of a topic."""

    topic_name: str


class BrokerConfigData(ConfigData, kw_only=True):
    """A setting of a broker."""

    broker_id: int


class ClusterConfigData(ConfigData, kw_only=True):
    """A setting of all brokers."""

    config_type: str


class Scope(NamedTuple):
    """What settings belong to, and how v3 speaks of it."""

    resource: ConfigResource
    kind: str
    data: type[ConfigData]
    own: dict[str, Any]
    where: tuple[str | int, ...]
    crn: str

    def __str__(self) -> str:
        return " ".join(map(str, self.own.values())) if self.own else "the cluster"

    @classmethod
    def topic(cls, name: str) -> Scope:
        """The settings of a topic."""
        return cls(
            ConfigResource(ResourceType.TOPIC, name),
            "KafkaTopicConfig",
            TopicConfigData,
            {"topic_name": name},
            ("topics", name, "configs"),
            f"/topic={name}",
        )

    @classmethod
    def broker(cls, number: int) -> Scope:
        """The settings of one broker."""
        return cls(
            ConfigResource(ResourceType.BROKER, str(number)),
            "KafkaBrokerConfig",
            BrokerConfigData,
            {"broker_id": number},
            ("brokers", number, "configs"),
            f"/broker={number}",
        )

    @classmethod
    def cluster(cls) -> Scope:
        """The settings that all brokers have in common."""
        return cls(
            ConfigResource(ResourceType.BROKER, ""),
            "KafkaClusterConfig",
            ClusterConfigData,
            {"config_type": "BROKER"},
            ("broker-configs",),
            "",
        )


def config_data(links: Links, scope: Scope, entry: ConfigEntry) -> ConfigData:
    """A setting as v3 shows it."""
    word = "broker-config" if scope.kind == "KafkaClusterConfig" else "config"
    return scope.data(
        kind=scope.kind,
        metadata=links.metadata(f"{scope.crn}/{word}={entry.name}", *scope.where, entry.name),
        cluster_id=links.cluster_id,
        name=entry.name,
        value=entry.value,
        is_default=entry.is_default,
        is_read_only=entry.read_only,
        is_sensitive=entry.sensitive,
        source=source_name(entry.source),
        synonyms=[
            ConfigSynonymData(each.name, each.value, source_name(each.source))
            for each in entry.synonyms
        ],
        **scope.own,
    )


def source_name(source: int) -> str:
    """Where a value comes from, in v3's words."""
    try:
        return ConfigSource(source).name
    except ValueError:
        return ConfigSource.UNKNOWN.name
