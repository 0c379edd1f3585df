"""Pure: what is said against a setting of a topic, in the sentences of Kafka's broker, which scripts know."""

from ottla.base.errors import ConfigError
from ottla.config.kafka import why_refused_for_topics
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


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
