"""Brings Kafka Streams with its TopologyTestDriver from Maven Central, and runs Java sources with it."""

from __future__ import annotations

from pathlib import Path

from tools.java import SHORT_LIVED
from tools.maven import fetched

VERSION = "4.3.0"
REPOSITORY = Path(__file__).resolve().parent.parent
POM = REPOSITORY / "tools" / "kafka_streams" / "pom.xml"
CACHE = REPOSITORY / ".cache" / f"kafka-streams-{VERSION}"


def jars() -> Path:
    """The directory of the jars, fetched through Maven the first time."""
    return fetched(POM, CACHE)


def java_command(source: Path) -> list[str]:
    """The command line that compiles and runs one Java file."""
    return ["java", "-Xmx512m", *SHORT_LIVED, "-cp", f"{jars()}/*", str(source)]
