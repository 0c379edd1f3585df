"""Settings of topics, brokers and groups, as a cluster keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from ottla.client.administration.base import Administration, Outcome, gathered, outcome
from ottla.client.errors import check
from ottla.protocol.apis.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)
from ottla.protocol.apis.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from ottla.protocol.apis.list_config_resources import ListConfigResourcesRequest


class ResourceType(IntEnum):
    """What settings may belong to."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(IntEnum):
    """Where the value of a setting comes from."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class AlterOperation(IntEnum):
    """What to do to a setting."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigResource(NamedTuple):
    """What settings belong to; a broker without a name stands for all brokers."""

    type: int
    name: str

    @property
    def broker_id(self) -> int | None:
        """The broker that alone can answer for this resource, if there is one."""
        own = self.type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER)
        return int(self.name) if own and self.name.isdecimal() else None


class ConfigSynonym(NamedTuple):
    """A value that another source gives, in the order in which they count."""

    name: str
    value: str | None
    source: int


class ConfigEntry(NamedTuple):
    """A setting with its value, which is None where it is hidden."""

    name: str
    value: str | None
    source: int
    read_only: bool
    sensitive: bool
    synonyms: tuple[ConfigSynonym, ...] = ()
    type: int = 0
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        """Whether nobody has set it."""
        return self.source == ConfigSource.DEFAULT_CONFIG


class ConfigChange(NamedTuple):
    """One change of one setting."""

    name: str
    value: str | None
    operation: int = AlterOperation.SET


class Configs(Administration):
    """Administration of settings."""

    async def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        names: Iterable[str] | None = None,
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> dict[ConfigResource, Outcome[dict[str, ConfigEntry]]]:
        """The settings of resources, all or those with the given names."""
        wanted = None if names is None else list(names)

        def request(group: list[ConfigResource]) -> DescribeConfigsRequest:
            return DescribeConfigsRequest(
                resources=[
                    DescribeConfigsResource(
                        resource_type=each.type, resource_name=each.name, configuration_keys=wanted
                    )
                    for each in group
                ],
                include_synonyms=include_synonyms,
                include_documentation=include_documentation,
            )

        asked = [
            self.ask_any(request(group), node_id=node)
            for node, group in _by_broker(resources).items()
        ]
        answers = [result for answer in await gathered(asked) for result in answer.results]
        return {
            _resource(result): outcome(
                result.error_code,
                result.error_message,
                {config.name: _entry(config) for config in result.configs},
            )
            for result in answers
        }

    async def alter_configs(
        self,
        changes: Mapping[ConfigResource, Iterable[ConfigChange]],
        *,
        validate_only: bool = False,
    ) -> dict[ConfigResource, Outcome[None]]:
        """Change single settings and leave the others as they are."""

        def request(group: list[ConfigResource]) -> IncrementalAlterConfigsRequest:
            resources = [_altered(each, changes[each]) for each in group]
            return IncrementalAlterConfigsRequest(resources=resources, validate_only=validate_only)

        asked = [
            self.cluster.ask_controller(request(group))
            if node is None
            else self.ask_any(request(group), node_id=node)
            for node, group in _by_broker(changes).items()
        ]
        return {
            _resource(result): outcome(result.error_code, result.error_message, None)
            for answer in await gathered(asked)
            for result in answer.responses
        }

    async def list_config_resources(self, types: Iterable[int] = ()) -> list[ConfigResource]:
        """What has settings of its own; all types if none is given."""
        request = ListConfigResourcesRequest(resource_types=list(types))
        response = await self.ask_any(request)
        check(response.error_code)
        return sorted(_resource(each) for each in response.config_resources)


def _by_broker(
    resources: Iterable[ConfigResource],
) -> dict[int | None, list[ConfigResource]]:
    groups: dict[int | None, list[ConfigResource]] = {}
    for each in resources:
        groups.setdefault(each.broker_id, []).append(each)
    return groups


def _resource(result: Any) -> ConfigResource:
    return ConfigResource(result.resource_type, result.resource_name)


def _entry(config: DescribeConfigsResourceResult) -> ConfigEntry:
    return ConfigEntry(
        config.name,
        config.value,
        config.config_source,
        config.read_only,
        config.is_sensitive,
        tuple(ConfigSynonym(each.name, each.value, each.source) for each in config.synonyms),
        config.config_type,
        config.documentation,
    )


def _altered(resource: ConfigResource, changes: Iterable[ConfigChange]) -> AlterConfigsResource:
    configs = [
        AlterableConfig(name=each.name, config_operation=each.operation, value=each.value)
        for each in changes
    ]
    return AlterConfigsResource(
        resource_type=resource.type, resource_name=resource.name, configs=configs
    )
