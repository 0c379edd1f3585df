"""Settings in a cluster: what is shown of them, and how changes of them are asked for and told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ottla.client.administration.configs import AlterOperation, ConfigChange, ConfigSource

if TYPE_CHECKING:
    from ottla.cli.output import Report
    from ottla.client.administration.configs import ConfigEntry

_SOURCES: Final[dict[int, str]] = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG: "topic",
    ConfigSource.DYNAMIC_BROKER_CONFIG: "broker",
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: "all brokers",
    ConfigSource.STATIC_BROKER_CONFIG: "file",
    ConfigSource.DEFAULT_CONFIG: "default",
    ConfigSource.DYNAMIC_GROUP_CONFIG: "group",
}


def changes_of(sets: Mapping[str, str], unsets: Iterable[str]) -> list[ConfigChange]:
    """What to ask the cluster for."""
    changes = [ConfigChange(name, value) for name, value in sets.items()]
    return changes + [ConfigChange(name, None, AlterOperation.DELETE) for name in unsets]


def say_changes(report: Report, what: str, changes: Iterable[ConfigChange]) -> None:
    """Tell what was changed."""
    for each in changes:
        done = "back to its default" if each.value is None else f"= {each.value}"
        report.tell(f"{what}: {each.name} {done}", of=what, name=each.name, value=each.value)


def config_rows(entries: Mapping[str, ConfigEntry], *, every: bool) -> list[dict[str, Any]]:
    """The settings that somebody has set, or every one."""
    return [
        {
            "name": each.name,
            "value": "(hidden)" if each.sensitive else each.value,
            "from": _SOURCES.get(each.source, "unknown"),
            "read_only": each.read_only,
        }
        for each in sorted(entries.values())
        if every or not each.is_default
    ]
