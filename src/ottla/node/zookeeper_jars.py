"""Finds the jars of a ZooKeeper server on this machine, and the Java to run them."""

import os
import shutil
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ottla.base.errors import OttlaError

DEBIAN: Final = Path("/usr/share/java/zookeeper.jar")
"""Debian's jar names all others that it needs by itself."""

# Of the 300 jars beside pyspark the server needs these; a class path of all costs it 50 MB.
_NEEDED: Final = (
    "commons-cli",
    "commons-io",
    "log4j-",
    "logback-",
    "metrics-core",
    "netty-",
    "slf4j-",
    "snappy-java",
    "zookeeper-",
)


class ZookeeperMissing(OttlaError):
    """ZooKeeper cannot run on this machine; the message says what to install."""


def find_java(environment: Mapping[str, str] = os.environ) -> str:
    """The Java of JAVA_HOME, or the one in the path."""
    home = environment.get("JAVA_HOME")
    found = shutil.which(str(Path(home) / "bin" / "java")) if home else None
    found = found or shutil.which("java", path=environment.get("PATH"))
    if found is None:
        raise ZookeeperMissing(
            "ZooKeeper needs Java 17 or newer, and there is no java here: install it (Debian: "
            "apt-get install default-jre-headless) or set JAVA_HOME"
        )
    return found


def find_classpath(environment: Mapping[str, str] = os.environ) -> str:
    """The class path of a ZooKeeper server: ZOOKEEPER_HOME, else beside pyspark, else Debian's."""
    for directory in _directories(environment):
        jars = sorted(directory.glob("*.jar"))
        if any(jar.name.startswith("zookeeper-") for jar in jars):
            return os.pathsep.join(str(jar) for jar in jars if jar.name.startswith(_NEEDED))
    if DEBIAN.exists():
        return str(DEBIAN)
    raise ZookeeperMissing(
        "no ZooKeeper server was found: install pyspark (pip install pyspark), Debian's zookeeper "
        "(apt-get install zookeeper), or set ZOOKEEPER_HOME to where it was unpacked; or name a "
        "running one with zookeeper.connect"
    )


def _directories(environment: Mapping[str, str]) -> Iterator[Path]:
    home = environment.get("ZOOKEEPER_HOME")
    if home:
        yield Path(home) / "lib"
        yield Path(home)
        return  # whoever names one does not want another
    spark = environment.get("SPARK_HOME")
    if spark:
        yield Path(spark) / "jars"
    pyspark = find_spec("pyspark")
    for place in (pyspark.submodule_search_locations or ()) if pyspark else ():
        yield Path(place) / "jars"
