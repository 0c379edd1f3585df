"""`ottla spark shell`: PySpark with everything set."""

from __future__ import annotations

import argparse
import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NoReturn

from ottla.cli.connect import (
    DEFAULTS,
    add_broker_arguments,
    assignments,
    client_settings,
    known_to,
)
from ottla.client.settings import ClientSettings
from ottla.pipeline import batch_progress
from ottla.pipeline.requirements import SparkUnavailable, require_spark
from ottla.pipeline.spark_session import SETTINGS
from ottla.pipeline.worker_python import python_for

EXAMPLES = """examples:
  ottla spark shell
  ottla spark shell -b kafka:9092 --master 'local[4]'
  ottla spark shell --conf spark.driver.memory=4g
In the shell, topic("orders") is the frame of a topic, and stream("orders") that of what comes.
"""
_STARTUP: Final = Path(__file__).parents[2] / "spark_startup.py"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where Spark runs, and with which settings."""
    parser.add_argument(
        "--master", default="local[*]", metavar="URL", help="where Spark runs (default: local[*])"
    )
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of Spark; may be given again",
    )
    add_broker_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Become the shell."""
    require_spark()
    home = _spark_home()
    command = [str(home / "bin" / "pyspark"), "--master", arguments.master]
    settings = SETTINGS | batch_progress.SETTINGS | assignments(arguments.conf, "--conf")
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    _become(command, {**os.environ, **_variables(arguments, home)})


def _variables(arguments: argparse.Namespace, home: Path) -> dict[str, str]:
    settings = known_to(ClientSettings, client_settings(arguments))
    # A command's impatience is not a job's.
    own = {name: value for name, value in settings.items() if DEFAULTS.get(name) != value}
    cluster = {f"kafka.{name}": value for name, value in own.items()}
    return {
        "SPARK_HOME": str(home),
        # The workers must be the Python that has ottla, too.
        "PYSPARK_PYTHON": python_for(arguments.master, {}),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        # pyspark takes the variable for its own beginning, and runs what was in it behind that.
        "PYTHONSTARTUP": str(_STARTUP),
        "OTTLA_SPARK_CLUSTER": json.dumps(cluster),
    }


def _spark_home() -> Path:
    """Where pyspark is: looked up, not imported, which would take a second."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise SparkUnavailable("pyspark cannot be imported; install it again")
    return Path(found.origin).parent


def _become(command: list[str], environment: dict[str, str]) -> NoReturn:
    sys.stdout.flush()
    os.execve(command[0], command, environment)
