"""Pure: settings as DescribeConfigs shows them, with where each value comes from."""

from collections.abc import Collection, Iterator, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from ottla.config.dynamic import Overlay
from ottla.config.group import GROUP_SETTINGS, GroupSetting
from ottla.config.log import TOPIC_SETTINGS
from ottla.config.setting import Scope, Setting, Synonym
from ottla.config.table import SYNONYMS, TABLE

UNKNOWN_TYPE: Final = 0


class Source(IntEnum):
    """Where a value comes from, by its number on the wire."""

    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_GROUP = 8


class ConfigSynonym(NamedTuple):
    """A name that would give the value, were those before it not set."""

    name: str
    value: str | None
    source: Source


class ConfigRow(NamedTuple):
    """One setting of one resource."""

    name: str
    value: str | None
    source: Source
    is_sensitive: bool
    read_only: bool
    type_code: int
    documentation: str
    synonyms: tuple[ConfigSynonym, ...]


def describe_topic(
    overlay: Overlay, overrides: Mapping[str, str], names: Collection[str] | None = None
) -> list[ConfigRow]:
    """All settings of a topic, or those named, in the order of their names."""
    effective = overlay.effective().log
    rows = []
    for name in _chosen(TOPIC_SETTINGS, names):
        setting = TOPIC_SETTINGS[name]
        value = _shown(setting, setting.kind.text(getattr(effective, setting.attribute)))
        synonyms = _levels(overlay, setting)
        if name in overrides:
            value = _shown(setting, setting.kind.canonical(overrides[name]))
            synonyms = (ConfigSynonym(name, value, Source.DYNAMIC_TOPIC), *synonyms)
        source = synonyms[0].source if synonyms else Source.DEFAULT
        rows.append(_row(setting, name, value, source, False, synonyms))
    return rows


def describe_group(
    overlay: Overlay, overrides: Mapping[str, str], names: Collection[str] | None = None
) -> list[ConfigRow]:
    """All settings of a group, or those named, in the order of their names.

    As in Kafka, a value is shown as it was set, though the broker's bounds may since allow less.
    """
    return [
        _group_row(overlay, GROUP_SETTINGS[name], overrides.get(name))
        for name in _chosen(GROUP_SETTINGS, names)
    ]


def _group_row(overlay: Overlay, row: GroupSetting, own: str | None) -> ConfigRow:
    synonyms = tuple(_levels_of(overlay, row.usual))
    if own is not None:
        synonyms = (ConfigSynonym(row.name, own, Source.DYNAMIC_GROUP), *synonyms)
    _, value, source = synonyms[0]
    code = row.usual.kind.code
    return ConfigRow(row.name, value, source, False, False, code, row.doc, synonyms)


def describe_broker(overlay: Overlay, names: Collection[str] | None = None) -> list[ConfigRow]:
    """All settings of a broker, or those named, in the order of their names."""
    dynamic = {**overlay.cluster, **overlay.broker}
    known = (*TABLE, *SYNONYMS)
    return [
        _broker_row(overlay, name)
        for name in _chosen((*known, *(n for n in dynamic if n not in known)), names)
    ]


def describe_cluster(overlay: Overlay, names: Collection[str] | None = None) -> list[ConfigRow]:
    """The dynamic settings that hold for all brokers, or those named among them."""
    only_cluster = Overlay(overlay.settings, overlay.cluster)
    return [_broker_row(only_cluster, name) for name in _chosen(overlay.cluster, names)]


def _broker_row(overlay: Overlay, name: str) -> ConfigRow:
    if name in TABLE:
        setting: Setting | Synonym = TABLE[name].setting
    elif name in SYNONYMS:
        setting = SYNONYMS[name][0]
    else:
        # Nobody knows what it is, so it may be a secret.
        source = Source.DYNAMIC_BROKER if name in overlay.broker else Source.DYNAMIC_DEFAULT_BROKER
        unknown = ConfigSynonym(name, None, source)
        return ConfigRow(name, None, source, True, False, UNKNOWN_TYPE, "", (unknown,))
    synonyms = tuple(_levels_of(overlay, setting))
    first = synonyms[0] if synonyms else ConfigSynonym(name, None, Source.DEFAULT)
    read_only = isinstance(setting, Synonym) or setting.scope is Scope.READ_ONLY
    return _row(setting, name, first.value, first.source, read_only, synonyms)


def _levels(overlay: Overlay, setting: Setting) -> tuple[ConfigSynonym, ...]:
    """What gives a topic its value, strongest first, through every broker name of the setting."""
    parts: tuple[Setting | Synonym, ...] = (setting, *setting.synonyms)
    every = [level for part in parts for level in _levels_of(overlay, part)]
    if all(level.source is Source.DEFAULT and level.name != setting.name for level in every):
        return ()  # as in Kafka, log.retention.hours=168 is not shown as what gives retention.ms
    return tuple(sorted(every, key=lambda level: level.source))


def _levels_of(overlay: Overlay, setting: Setting | Synonym) -> Iterator[ConfigSynonym]:
    """What gives a broker's setting its value, strongest first."""
    name = setting.name
    if not name:
        return
    for texts, source in (
        (overlay.broker, Source.DYNAMIC_BROKER),
        (overlay.cluster, Source.DYNAMIC_DEFAULT_BROKER),
    ):
        if name in texts:
            yield ConfigSynonym(name, _shown(setting, setting.kind.canonical(texts[name])), source)
    given = overlay.settings.given.get(name)
    if given is not None:
        text = setting.kind.canonical(given.text)
        yield ConfigSynonym(name, _shown(setting, text), Source.STATIC_BROKER)
    default = setting.default_text()
    if default is not None:
        yield ConfigSynonym(name, _shown(setting, default), Source.DEFAULT)


def _row(
    setting: Setting | Synonym,
    name: str,
    value: str | None,
    source: Source,
    read_only: bool,
    synonyms: tuple[ConfigSynonym, ...],
) -> ConfigRow:
    code = setting.kind.code
    secret = _is_secret(setting)
    return ConfigRow(name, value, source, secret, read_only, code, setting.doc, synonyms)


def _shown(setting: Setting | Synonym, text: str) -> str | None:
    return None if _is_secret(setting) else text


def _is_secret(setting: Setting | Synonym) -> bool:
    return isinstance(setting, Setting) and setting.sensitive


def _chosen(known: Collection[str], names: Collection[str] | None) -> list[str]:
    return sorted(known if names is None else set(names) & set(known))
