"""Brings Spark 4.0 with its own Kafka connector: an environment of its own, and jars from Maven Central.

The connector of later versions is incomplete on Maven Central, and one environment holds one pyspark: so what compares
ottla's source and sink with the connector runs programs in this one.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.lock import exclusive
from tools.maven import JarsUnavailable, fetched
from tools.spark_program import SparkProgram

VERSION = "4.0.0"
REPOSITORY = Path(__file__).resolve().parent.parent
POM = REPOSITORY / "tools" / "spark" / "pom.xml"
CACHE = REPOSITORY / ".cache"
JARS = CACHE / f"spark-kafka-connector-{VERSION}"
ENVIRONMENT = CACHE / f"spark-{VERSION}"


def jars() -> list[Path]:
    """The jars of the connector, fetched through Maven the first time."""
    return sorted(fetched(POM, JARS).glob("*.jar"))


def python() -> Path:
    """The interpreter of the environment that holds this pyspark, made the first time."""
    program = ENVIRONMENT / "bin" / "python"
    stamp = ENVIRONMENT / ".complete"
    with exclusive(CACHE / f"spark-{VERSION}.lock"):
        if not stamp.exists():
            shutil.rmtree(ENVIRONMENT, ignore_errors=True)
            _run([sys.executable, "-m", "venv", str(ENVIRONMENT)])
            pip = [str(program), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            _run([*pip, f"pyspark=={VERSION}"])
            stamp.touch()
    return program


def program(log_file: Path, more: Mapping[str, str] | None = None) -> SparkProgram:
    """A session of this Spark, with the connector, to be entered."""
    interpreter = python()
    environment = {"PYSPARK_PYTHON": str(interpreter), "PYSPARK_DRIVER_PYTHON": str(interpreter)}
    conf = {"spark.jars": ",".join(map(str, jars())), **(more or {})}
    return SparkProgram("kafka", log_file, conf, interpreter, environment)


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise JarsUnavailable(
            f"pyspark {VERSION} could not be installed into {ENVIRONMENT}; check the network and "
            f"pip's settings:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
