"""Pure: the table of all settings, and `Settings`, the values of one broker."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeVar

from ottla.config.groups import GroupsConfig
from ottla.config.log import LogConfig
from ottla.config.own import OwnConfig
from ottla.config.replication import ReplicationConfig
from ottla.config.server import ServerConfig
from ottla.config.setting import Scope, Setting, Synonym, parse, settings_of
from ottla.config.storage import StorageConfig
from ottla.config.topics import TopicsConfig
from ottla.config.transactions import TransactionsConfig
from ottla.config.zookeeper import ZookeeperConfig

S = TypeVar("S")

SECTIONS: Final[dict[str, type[Any]]] = {
    "server": ServerConfig,
    "topics": TopicsConfig,
    "storage": StorageConfig,
    "log": LogConfig,
    "replication": ReplicationConfig,
    "groups": GroupsConfig,
    "transactions": TransactionsConfig,
    "zookeeper": ZookeeperConfig,
    "ottla": OwnConfig,
}


class Given(NamedTuple):
    """What somebody wrote for a setting, and where."""

    text: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All that a broker was told, typed and checked; with no arguments, the defaults."""

    server: ServerConfig = field(default_factory=ServerConfig)
    topics: TopicsConfig = field(default_factory=TopicsConfig)
    storage: StorageConfig = field(default_factory=StorageConfig)
    log: LogConfig = field(default_factory=LogConfig)
    replication: ReplicationConfig = field(default_factory=ReplicationConfig)
    groups: GroupsConfig = field(default_factory=GroupsConfig)
    transactions: TransactionsConfig = field(default_factory=TransactionsConfig)
    zookeeper: ZookeeperConfig = field(default_factory=ZookeeperConfig)
    ottla: OwnConfig = field(default_factory=OwnConfig)
    given: Mapping[str, Given] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class Row(NamedTuple):
    """One setting and the section of `Settings` that holds its value."""

    section: str
    setting: Setting


TABLE: Final[dict[str, Row]] = {
    setting.name: Row(section, setting)
    for section, kind in SECTIONS.items()
    for setting in settings_of(kind)
    if setting.name
}
"""Every setting by its broker name."""

SYNONYMS: Final[dict[str, tuple[Synonym, Setting]]] = {
    synonym.name: (synonym, row.setting)
    for row in TABLE.values()
    for synonym in row.setting.synonyms
}
"""Every other name that gives a setting its value."""


def value_of(settings: Settings, row: Row) -> Any:
    """The value that a broker's settings hold for one row of the table."""
    return getattr(getattr(settings, row.section), row.setting.attribute)


def from_texts(given: Mapping[str, Given]) -> Settings:
    """Reads everything that was given; ConfigError names what cannot be, and where it was set."""
    sections = {
        name: kind(**dict(_values(settings_of(kind), given))) for name, kind in SECTIONS.items()
    }
    return Settings(**sections, given=given)


def with_dynamic(settings: Settings, texts: Mapping[str, str]) -> Settings:
    """Applies dynamic values; names that cannot change at run time are passed over."""
    changes: dict[str, dict[str, Any]] = {}
    for name, text in texts.items():
        row = TABLE.get(name)
        if row is not None and row.setting.scope is not Scope.READ_ONLY:
            value = parse(row.setting, name, text)
            changes.setdefault(row.section, {})[row.setting.attribute] = value
    sections = {key: replace(getattr(settings, key), **values) for key, values in changes.items()}
    return replace(settings, **sections)


def _values(rows: tuple[Setting, ...], given: Mapping[str, Given]) -> Iterator[tuple[str, Any]]:
    for setting in rows:
        written = given.get(setting.name)
        if written is not None:
            yield setting.attribute, parse(setting, setting.name, *written)
            continue
        for synonym in setting.synonyms:
            written = given.get(synonym.name)
            if written is not None:
                value = parse(synonym, synonym.name, *written)
                yield setting.attribute, synonym.convert(value)
                break
