"""Brings the jars of a ZooKeeper server from Maven Central, 7 MB of them, for the tests."""

from __future__ import annotations

from pathlib import Path

from tools.apache_kafka import REPOSITORY
from tools.maven import fetched

POM = REPOSITORY / "tools" / "zookeeper" / "pom.xml"
CACHE = REPOSITORY / ".cache" / "zookeeper-3.9.5"


def jars() -> Path:
    """The directory of ZooKeeper's jars, fetched through Maven the first time."""
    return fetched(POM, CACHE)
