"""Pure: settings that change while the broker runs, of the cluster, of one broker, of a topic, of a group."""

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import NamedTuple

from ottla.base.errors import ConfigError
from ottla.config.checks import check_groups, check_limits, check_log
from ottla.config.group import check_group, group_setting
from ottla.config.groups import GroupsConfig
from ottla.config.kafka import why_refused
from ottla.config.log import TOPIC_SETTINGS, LogConfig, topic_setting
from ottla.config.setting import Scope, Setting, parse
from ottla.config.table import SYNONYMS, TABLE, Settings, value_of, with_dynamic

# Which replicas may lead rests on it, so it is the same for all (docs/adr/0010-lives.md).
_CLUSTER_WIDE = frozenset(("min.insync.replicas",))


class Op(IntEnum):
    """What IncrementalAlterConfigs may ask, by its number on the wire."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Change(NamedTuple):
    """One change of one setting."""

    name: str
    op: Op
    value: str | None


class Overlay(NamedTuple):
    """A broker's static settings under the dynamic ones of the cluster and of the broker itself."""

    settings: Settings
    cluster: Mapping[str, str] = MappingProxyType({})
    broker: Mapping[str, str] = MappingProxyType({})

    def effective(self) -> Settings:
        """The values that hold now; what is one for the whole cluster, no broker has for itself."""
        own = {name: text for name, text in self.broker.items() if name not in _CLUSTER_WIDE}
        return with_dynamic(self.settings, {**self.cluster, **own})


def alter_topic(
    current: Mapping[str, str], changes: Iterable[Change], defaults: LogConfig
) -> dict[str, str]:
    """The overrides of a topic after the changes; ConfigError if they cannot be."""

    def usual(name: str, text: str) -> tuple[Setting, str]:
        row = topic_setting(name, text)
        return row, row.kind.text(getattr(defaults, row.attribute))

    return replace_topic(_changed(current, changes, usual), defaults)


def replace_topic(texts: Mapping[str, str | None], defaults: LogConfig) -> dict[str, str]:
    """The overrides of a topic that has just these, as they are kept; ConfigError if it cannot."""
    overrides = {}
    for name, text in texts.items():
        row = topic_setting(name, _present(name, text))
        overrides[name] = _canonical(row, name, _present(name, text))
    check_log(LogConfig.resolve(defaults, overrides))
    return overrides


def alter_group(
    current: Mapping[str, str], changes: Iterable[Change], config: GroupsConfig
) -> dict[str, str]:
    """The settings that a group has of its own after the changes; ConfigError if they cannot be."""

    def usual(name: str, text: str) -> tuple[Setting, str]:
        row = group_setting(name, text).usual
        return row, row.kind.text(getattr(config, row.attribute))

    overrides = {
        name: _canonical(group_setting(name, text).usual, name, text)
        for name, text in _changed(current, changes, usual).items()
    }
    check_group(config, overrides)
    return overrides


def alter_broker(
    current: Mapping[str, str], changes: Iterable[Change], settings: Settings
) -> dict[str, str]:
    """The dynamic settings of one broker, or of all, after the changes; ConfigError if unfit."""

    def usual(name: str, text: str) -> tuple[Setting, str]:
        row = TABLE.get(name)
        if row is None:
            raise ConfigError(name, text, "is not a list of this broker, and cannot be added to")
        return row.setting, row.setting.kind.text(value_of(settings, row))

    return replace_broker(_changed(current, changes, usual), settings)


def replace_broker(texts: Mapping[str, str | None], settings: Settings) -> dict[str, str]:
    """The dynamic settings of a broker, or of all, that are just these; ConfigError if they cannot.

    As in Kafka, names that nobody knows are kept and mean nothing.
    """
    kept = {name: _dynamic_text(name, _present(name, text)) for name, text in texts.items()}
    effective = with_dynamic(settings, kept)
    check_log(effective.log)
    check_limits(effective)
    check_groups(effective.groups)
    return kept


def _dynamic_text(name: str, text: str) -> str:
    why = why_refused(name, text)
    if why is not None:
        raise ConfigError(name, None, why)
    row = TABLE.get(name)
    if name in SYNONYMS or (row is not None and row.setting.scope is Scope.READ_ONLY):
        raise ConfigError(name, text, "cannot be changed while the broker runs")
    if row is None:
        if name in TOPIC_SETTINGS:
            broker_name = TOPIC_SETTINGS[name].name
            for_all = f"; for all of them set {broker_name}" if broker_name else " alone"
            raise ConfigError(name, text, f"belongs to topics{for_all}")
        return text
    return _canonical(row.setting, name, text)


def _canonical(row: Setting, name: str, text: str) -> str:
    parse(row, name, text)
    return row.kind.canonical(text)


def _present(name: str, text: str | None) -> str:
    if text is None:
        raise ConfigError(name, None, "must have a value; to go back to the default, delete it")
    return text


def _changed(
    current: Mapping[str, str],
    changes: Iterable[Change],
    usual: Callable[[str, str], tuple[Setting, str]],
) -> dict[str, str]:
    """Applies changes in order; `usual` gives the value that a list has where it is not set."""
    texts = dict(current)
    seen: set[str] = set()
    for name, op, value in changes:
        if name in seen:
            raise ConfigError(name, None, "must be changed only once in a request")
        seen.add(name)
        if op is Op.DELETE:
            texts.pop(name, None)
        elif op is Op.SET:
            texts[name] = _present(name, value)
        else:
            row, default = usual(name, _present(name, value))
            texts[name] = _list_after(
                row, name, op, texts.get(name, default), _present(name, value)
            )
    return texts


def _list_after(row: Setting, name: str, op: Op, current: str, value: str) -> str:
    if row.kind.word != "list":
        raise ConfigError(name, value, f"cannot be {op.name.lower()}ed: it is not a list")
    items = [item for item in current.split(",") if item]
    for item in (part.strip() for part in value.split(",")):
        if op is Op.APPEND and item not in items:
            items.append(item)
        elif op is Op.SUBTRACT and item in items:
            items.remove(item)
    return ",".join(items)
