"""Settings of topics, of brokers, and of all brokers together."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from ottla.base.errors import ApiError
from ottla.client.administration.configs import (
    AlterOperation,
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceType,
)
from ottla.http.rest.v3.brokers import find_broker
from ottla.http.rest.v3.config_data import (
    BrokerConfigData,
    ClusterConfigData,
    Scope,
    TopicConfigData,
    config_data,
)
from ottla.http.rest.v3.declare import CLUSTER, TOPIC, route
from ottla.http.rest.v3.links import links_of, list_of
from ottla.http.server.call import Call
from ottla.http.server.errors import HttpError
from ottla.inspection.outcomes import raise_first


class UpdateConfigRequest(msgspec.Struct):
    """The new value of a setting."""

    value: str | None = None


class AlterEntry(msgspec.Struct):
    """One change of one setting."""

    name: str
    value: str | None = None
    operation: Literal["SET", "DELETE"] | None = None


class AlterConfigsRequest(msgspec.Struct):
    """Changes to be made together, or none of them."""

    data: list[AlterEntry]
    validate_only: bool = False


async def _scope(call: Call) -> Scope:
    """What the path is about; 404 for a broker that is not there, which nobody could ask."""
    if "topic_name" in call.path:
        return Scope.topic(call.path["topic_name"])
    if "broker_id" in call.path:
        return Scope.broker((await find_broker(call)).id)
    return Scope.cluster()


async def _entries(
    call: Call, scope: Scope, names: list[str] | None = None
) -> dict[str, ConfigEntry]:
    admin = await call.admin()
    found = await admin.describe_configs([scope.resource], names=names, include_synonyms=True)
    entries = found[scope.resource]
    if isinstance(entries, ApiError):
        raise entries
    return entries


async def list_configs(call: Call) -> Any:
    """Return all settings of a topic, a broker or the cluster."""
    links, scope = await links_of(call), await _scope(call)
    entries = await _entries(call, scope)
    data = [config_data(links, scope, each) for _, each in sorted(entries.items())]
    return links.listed(f"{scope.kind}List", data, *scope.where)


async def get_config(call: Call) -> Any:
    """Return one setting."""
    links, scope, name = await links_of(call), await _scope(call), call.path["name"]
    return config_data(links, scope, await _entry(call, scope, name))


async def _entry(call: Call, scope: Scope, name: str) -> ConfigEntry:
    found = (await _entries(call, scope, [name])).get(name)
    if found is None:
        raise HttpError(404, f"{scope} has no setting {name[:200]}", code=404)
    return found


async def update_config(call: Call) -> None:
    """Change one setting."""
    wanted: UpdateConfigRequest = await call.body()
    scope, name = await _scope(call), call.path["name"]
    await _alter(call, scope, [ConfigChange(name, wanted.value or "")])


async def reset_config(call: Call) -> None:
    """Let one setting have its default again."""
    scope, name = await _scope(call), call.path["name"]
    if scope.resource.type == ResourceType.TOPIC:
        await _entry(call, scope, name)
    await _alter(call, scope, [ConfigChange(name, None, AlterOperation.DELETE)])


async def alter_configs(call: Call) -> None:
    """Change several settings, or none of them."""
    wanted: AlterConfigsRequest = await call.body()
    changes = [_change(each) for each in wanted.data]
    await _alter(call, await _scope(call), changes, validate_only=wanted.validate_only)


def _change(entry: AlterEntry) -> ConfigChange:
    if entry.operation == "DELETE":
        return ConfigChange(entry.name, None, AlterOperation.DELETE)
    return ConfigChange(entry.name, entry.value or "")


async def _alter(
    call: Call, scope: Scope, changes: list[ConfigChange], *, validate_only: bool = False
) -> None:
    admin = await call.admin()
    raise_first(await admin.alter_configs({scope.resource: changes}, validate_only=validate_only))


async def list_of_all_topics(call: Call) -> Any:
    """Return the settings of all topics."""
    links, admin = await links_of(call), await call.admin()
    scopes = {
        ConfigResource(ResourceType.TOPIC, name): Scope.topic(name)
        for name in await admin.list_topics()
    }
    found = await admin.describe_configs(scopes, include_synonyms=True) if scopes else {}
    data = [
        config_data(links, scopes[resource], entry)
        for resource, entries in sorted(found.items())
        if not isinstance(entries, ApiError)
        for _, entry in sorted(entries.items())
    ]
    return links.listed("KafkaTopicConfigList", data, "topics", "-", "configs")


async def list_of_all_brokers(call: Call) -> Any:
    """Return the settings that were changed on single brokers."""
    links, admin = await links_of(call), await call.admin()
    brokers = (await admin.describe_cluster()).brokers
    scopes = {Scope.broker(each.id).resource: Scope.broker(each.id) for each in brokers}
    found = await admin.describe_configs(scopes, include_synonyms=True)
    data = [
        config_data(links, scopes[resource], entry)
        for resource, entries in sorted(found.items())
        if not isinstance(entries, ApiError)
        for _, entry in sorted(entries.items())
        if entry.source == ConfigSource.DYNAMIC_BROKER_CONFIG
    ]
    return links.listed("KafkaBrokerConfigList", data, "brokers", "-", "configs")


async def list_defaults(call: Call) -> Any:
    """Return the values that the settings of a topic would have, had nobody set them for it."""
    links, scope = await links_of(call), await _scope(call)
    data = [
        config_data(links, scope, _default(each))
        for _, each in sorted((await _entries(call, scope)).items())
    ]
    return links.listed(
        "KafkaTopicDefaultConfigList", data, "topics", scope.resource.name, "default-configs"
    )


def _default(entry: ConfigEntry) -> ConfigEntry:
    for each in entry.synonyms:
        if each.source != ConfigSource.DYNAMIC_TOPIC_CONFIG:
            return entry._replace(value=each.value, source=each.source)
    return entry


def _routes(path: str, batch: str, tag: str, what: str, data: Any) -> tuple[Any, ...]:
    one = f"{path}/{{name}}"
    return (
        route("GET", path, list_configs, f"List the settings of {what}", tag, answer=list_of(data)),
        route("GET", one, get_config, f"Get a setting of {what}", tag, answer=data),
        route(
            "PUT", one, update_config, f"Change a setting of {what}", tag, body=UpdateConfigRequest
        ),
        route("DELETE", one, reset_config, f"Reset a setting of {what}", tag),
        route(
            "POST",
            batch,
            alter_configs,
            f"Change settings of {what}",
            tag,
            body=AlterConfigsRequest,
        ),
    )


_BROKER: Final = f"{CLUSTER}/brokers/{{broker_id}}"
ROUTES: Final = (
    route("GET", f"{CLUSTER}/topics/-/configs", list_of_all_topics, "List the settings of all topics",
          "Configs", answer=list_of(TopicConfigData)),
    route("GET", f"{CLUSTER}/brokers/-/configs", list_of_all_brokers,
          "List the settings of single brokers", "Configs", answer=list_of(BrokerConfigData)),
    route("GET", f"{TOPIC}/default-configs", list_defaults, "List the defaults of a topic", "Configs",
          answer=list_of(TopicConfigData)),
    *_routes(f"{TOPIC}/configs", f"{TOPIC}/configs:alter", "Configs", "a topic", TopicConfigData),
    *_routes(f"{_BROKER}/configs", f"{_BROKER}/configs:alter", "Configs", "a broker", BrokerConfigData),
    *_routes(f"{CLUSTER}/broker-configs", f"{CLUSTER}/broker-configs:alter", "Configs", "the cluster",
             ClusterConfigData),
)  # fmt: skip
