"""Pure: `setting(...)`, the one declaration from which everything about a setting derives.

A section is a frozen dataclass whose fields are settings. Parsing, validation, DescribeConfigs,
AlterConfigs and the documentation all read the `Setting` that each field carries.
"""

import dataclasses
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, NamedTuple, TypeVar

from ottla.base.errors import ConfigError
from ottla.config.kinds import Kind

T = TypeVar("T")
_KEY: Final = "setting"


class Scope(Enum):
    """Where the broker's value of a setting may be changed, in Kafka's words."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Synonym(NamedTuple):
    """Another name that gives the value, where the setting itself is not given."""

    name: str
    default: Any
    kind: Kind[Any]
    convert: Callable[[Any], Any]
    doc: str

    def default_text(self) -> str | None:
        """The default as DescribeConfigs shows it; None where there is none."""
        return None if self.default is None else self.kind.text(self.default)


class Setting(NamedTuple):
    """All that is known of one setting; `name` is empty where topics alone have it, and no broker."""

    name: str
    default: Any
    kind: Kind[Any]
    doc: str
    scope: Scope
    topic_name: str | None
    synonyms: tuple[Synonym, ...]
    importance: str
    sensitive: bool
    attribute: str = ""

    def default_text(self) -> str | None:
        """The default as DescribeConfigs shows it; None where it is that of a synonym."""
        if self.default is None or any(synonym.default is not None for synonym in self.synonyms):
            return None
        return self.kind.text(self.default)


def setting(
    name: str,
    default: T,
    kind: Kind[Any],
    *,
    doc: str,
    scope: Scope = Scope.READ_ONLY,
    topic_name: str | None = None,
    synonyms: tuple[Synonym, ...] = (),
    importance: str = "medium",
    sensitive: bool = False,
) -> T:
    """Declares one setting as a field of a frozen dataclass."""
    row = Setting(
        name=name,
        default=default,
        kind=kind,
        doc=doc,
        scope=scope,
        topic_name=topic_name,
        synonyms=synonyms,
        importance=importance,
        sensitive=sensitive,
    )
    return dataclasses.field(default=default, metadata={_KEY: row}, repr=not sensitive)


def parse(setting: Setting | Synonym, name: str, text: str, source: str = "") -> Any:
    """Reads one value; ConfigError names the setting, the value, what is allowed and the source."""
    try:
        return setting.kind.parse(text)
    except ValueError as error:
        where = f" (set by {source})" if source else ""
        shown = "[hidden]" if isinstance(setting, Setting) and setting.sensitive else text
        raise ConfigError(name, shown, f"{error}{where}") from None


def settings_of(section: type[Any]) -> tuple[Setting, ...]:
    """Lists the settings of a section, each knowing the attribute that holds its value."""
    return tuple(
        field.metadata[_KEY]._replace(attribute=field.name)
        for field in dataclasses.fields(section)
        if _KEY in field.metadata
    )
