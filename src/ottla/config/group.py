"""Pure: the settings that one group may have of its own, and what they come to within the broker's bounds."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from ottla.base.errors import ConfigError
from ottla.config.groups import GroupsConfig
from ottla.config.kafka import why_refused_for_groups
from ottla.config.setting import Scope, Setting, settings_of


class GroupSetting(NamedTuple):
    """One setting of a group: `usual` gives its default, `least` and `most` bound it, all three for every group."""

    name: str
    doc: str
    usual: Setting
    least: Setting
    most: Setting


class GroupConfig(NamedTuple):
    """What holds for one group; the fields are in the order of GROUP_SETTINGS."""

    consumer_heartbeat_interval_ms: int
    consumer_session_timeout_ms: int
    consumer_assignment_interval_ms: int


_BROKER: Final = {row.name: row for row in settings_of(GroupsConfig)}


def _bounded(name: str, doc: str) -> GroupSetting:
    protocol, _, what = name.partition(".")
    names = (f"group.{protocol}.{bound}{what}" for bound in ("", "min.", "max."))
    return GroupSetting(name, doc, *(_BROKER[each] for each in names))


_HEARTBEAT: Final = _bounded(
    "consumer.heartbeat.interval.ms", "Tells members of this consumer group to report this often."
)
_SESSION: Final = _bounded(
    "consumer.session.timeout.ms",
    "Removes a member of this consumer group that was silent for this long.",
)

_ASSIGNMENT: Final = _bounded(
    "consumer.assignment.interval.ms",
    "Assigns the partitions of this consumer group anew no sooner than this after the last time.",
)

GROUP_SETTINGS: Final = {row.name: row for row in (_HEARTBEAT, _SESSION, _ASSIGNMENT)}
"""Every setting that a group may have of its own, by name."""


def group_setting(name: str, text: str) -> GroupSetting:
    """The setting of that name; ConfigError if groups have none such."""
    row = GROUP_SETTINGS.get(name)
    if row is None:
        raise ConfigError(name, text, why_refused_for_groups(name) or "is not a group setting")
    return row


def resolve_group(usual: GroupsConfig, overrides: Mapping[str, str]) -> GroupConfig:
    """What holds for a group; as in Kafka, what was set under other bounds is moved into those of now."""
    return GroupConfig(*(_effective(row, usual, overrides) for row in GROUP_SETTINGS.values()))


def check_group(usual: GroupsConfig, overrides: Mapping[str, str]) -> None:
    """ConfigError if a value is out of its bounds, or contradicts another; the words are Kafka's."""
    for row in (row for name, row in GROUP_SETTINGS.items() if name in overrides):
        value = _asked(row, usual, overrides)
        if value < getattr(usual, row.least.attribute):
            raise ConfigError(row.name, value, f"must be greater than or equal to {row.least.name}")
        if value > getattr(usual, row.most.attribute):
            raise ConfigError(row.name, value, f"must be less than or equal to {row.most.name}")
    session_timeout_ms = _asked(_SESSION, usual, overrides)
    if session_timeout_ms <= _asked(_HEARTBEAT, usual, overrides):
        raise ConfigError(
            _SESSION.name, session_timeout_ms, f"must be greater than {_HEARTBEAT.name}"
        )


def _asked(row: GroupSetting, usual: GroupsConfig, overrides: Mapping[str, str]) -> int:
    text = overrides.get(row.name)
    value: int = getattr(usual, row.usual.attribute) if text is None else row.usual.kind.parse(text)
    return value


def _effective(row: GroupSetting, usual: GroupsConfig, overrides: Mapping[str, str]) -> int:
    value: int = getattr(usual, row.usual.attribute)
    if row.name in overrides:
        try:
            value = row.usual.kind.parse(overrides[row.name])
        except ValueError:
            # Somebody wrote it into the tree by hand: members must not suffer for it.
            return value
    elif not value or row.usual.scope is Scope.READ_ONLY:
        # No interval, the default of ottla alone, is within bounds that are made for Kafka's; and what was set when the
        # broker started has been checked.
        return value
    low: int = getattr(usual, row.least.attribute)
    high: int = getattr(usual, row.most.attribute)
    return max(low, min(value, high))
