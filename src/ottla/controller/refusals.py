"""Pure: what is said against a setting of a topic or group, in the sentences of Kafka's broker, which scripts know."""

from ottla.base.errors import ConfigError
from ottla.config.group import GROUP_SETTINGS
from ottla.config.kafka import why_refused_for_groups, why_refused_for_topics
from ottla.config.kinds import Int
from ottla.config.log import TOPIC_SETTINGS

_NUMBERS = ("short", "int", "long", "double")


def refused_setting(error: ConfigError) -> str:
    """The sentence for a client that asked for the setting."""
    row = TOPIC_SETTINGS.get(error.name)
    if row is None:
        refused = why_refused_for_topics(error.name)
        return str(error) if refused else f"Unknown topic config name: {error.name}"
    why = f"Value {error.why}"
    if row.kind.word in _NUMBERS and not _is_number(str(error.value)):
        why = f"Not a number of type {row.kind.word.upper()}"
    return f"Invalid value {error.value} for configuration {error.name}: {why}"


def refused_group_setting(error: ConfigError) -> str:
    """The sentence for a client that asked for the setting of a group."""
    name, value = error.name, str(error.value)
    if name not in GROUP_SETTINGS:
        refused = why_refused_for_groups(name)
        return str(error) if refused else f"Unknown group config name: {name}"
    invalid = f"Invalid value {value} for configuration {name}"
    kind = GROUP_SETTINGS[name].usual.kind
    try:
        number = Int().parse(value)
    except ValueError:
        return f"{invalid}: Not a number of type INT"
    if isinstance(kind, Int) and number < kind.least:
        return f"{invalid}: Value must be at least {kind.least}"
    return f"{name} {error.why}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
