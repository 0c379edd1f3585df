"""What Apache Kafka 4.3.0 declares about its settings, read from the table beside this file."""

from pathlib import Path
from typing import NamedTuple


class Fact(NamedTuple):
    """One setting of Kafka's."""

    resource: str
    name: str
    type: str
    default: str
    changes: str


def facts(resource: str) -> dict[str, Fact]:
    """Kafka's settings of brokers, of topics or of groups, by name."""
    text = Path(__file__).with_name("kafka_4_3_settings.tsv").read_text("utf-8")
    rows = (Fact(*line.split("\t")) for line in text.splitlines() if not line.startswith("#"))
    return {row.name: row for row in rows if row.resource == resource}
