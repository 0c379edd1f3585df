"""Settings of topics, brokers, loggers, groups and metrics, for kafka-configs."""

from __future__ import annotations

from typing import Final

from ottla.base.errors import ApiError
from ottla.cli.kafka.configs import DEFAULT_ENTITY, Changes, Entities
from ottla.client.administration.brokers import Brokers
from ottla.client.administration.configs import (
    AlterOperation,
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    Configs,
    ConfigSource,
    ResourceType,
)
from ottla.client.administration.groups import Groups
from ottla.client.administration.topics import Topics
from ottla.inspection.outcomes import raise_first

_RESOURCES: Final = {
    "topics": (ResourceType.TOPIC, ConfigSource.DYNAMIC_TOPIC_CONFIG),
    "brokers": (ResourceType.BROKER, ConfigSource.DYNAMIC_BROKER_CONFIG),
    "broker-loggers": (ResourceType.BROKER_LOGGER, None),
    "client-metrics": (ResourceType.CLIENT_METRICS, ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG),
    "groups": (ResourceType.GROUP, ConfigSource.DYNAMIC_GROUP_CONFIG),
}


class ConfigAdmin(Configs, Topics, Brokers, Groups):
    """What is asked about settings."""


async def describe_resources(admin: ConfigAdmin, entities: Entities, every: bool) -> None:
    """Print the settings of one entity, or of all of a type."""
    [kind] = entities.types
    singular = kind.removesuffix("s")
    names = entities.names or await _existing(admin, kind)
    if entities.names and not every and names[0] not in await _existing(admin, kind):
        print(f"The {singular} '{names[0]}' doesn't exist and doesn't have dynamic config.")
        return
    for name in names:
        if name == DEFAULT_ENTITY:
            print(f"Default configs for {kind} in the cluster are:")
        else:
            print(f"{'All' if every else 'Dynamic'} configs for {singular} {name} are:")
        for entry in await _settings(admin, kind, name, every):
            print(_line(entry))


async def alter_resource(admin: ConfigAdmin, entities: Entities, changes: Changes) -> None:
    """Change the settings of one entity."""
    [kind], [name] = entities.types, entities.names
    resource = ConfigResource(_RESOURCES[kind][0], name)
    wanted = [
        *(ConfigChange(key, value, AlterOperation.SET) for key, value in changes.added.items()),
        *(ConfigChange(key, None, AlterOperation.DELETE) for key in changes.deleted),
    ]
    raise_first(await admin.alter_configs({resource: wanted}))


async def _existing(admin: ConfigAdmin, kind: str) -> list[str]:
    if kind == "topics":
        return list(await admin.list_topics())
    if kind.startswith("broker"):
        brokers = (await admin.describe_cluster()).brokers
        return [*(str(broker.id) for broker in brokers), DEFAULT_ENTITY]
    listed = await admin.list_config_resources([_RESOURCES[kind][0]])
    names = {resource.name for resource in listed}
    if kind == "groups":
        names.update(group.group_id for group in await admin.list_groups())
    return sorted(names)


async def _settings(admin: ConfigAdmin, kind: str, name: str, every: bool) -> list[ConfigEntry]:
    resource_type, source = _RESOURCES[kind]
    if kind == "brokers" and name == DEFAULT_ENTITY:
        source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    resource = ConfigResource(resource_type, name)
    found = (await admin.describe_configs([resource], include_synonyms=True))[resource]
    if isinstance(found, ApiError):
        raise found
    entries = sorted(found.values())
    return [each for each in entries if every or source is None or each.source == source]


def _line(entry: ConfigEntry) -> str:
    synonyms = ", ".join(
        f"{_source(each.source)}:{each.name}={_text(each.value)}" for each in entry.synonyms
    )
    sensitive = "true" if entry.sensitive else "false"
    return f"  {entry.name}={_text(entry.value)} sensitive={sensitive} synonyms={{{synonyms}}}"


def _source(number: int) -> str:
    try:
        return ConfigSource(number).name
    except ValueError:
        return ConfigSource.UNKNOWN.name


def _text(value: str | None) -> str:
    return "null" if value is None else value
