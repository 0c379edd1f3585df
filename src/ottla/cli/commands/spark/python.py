"""`ottla spark python`: the interpreter with which Spark's Python workers start sooner."""

from __future__ import annotations

import argparse

from ottla.base.errors import OttlaError
from ottla.cli.output import add_output_argument, show_one
from ottla.pipeline.requirements import require_pyspark
from ottla.pipeline.worker_python import has_script, worker_python

EXAMPLES = """examples:
  PYSPARK_PYTHON=$(ottla spark python) python job.py
  PYSPARK_PYTHON=$(ottla spark python) spark-submit --master 'local[4]' job.py
It is for workers on this machine; ottla.pipeline.session() does it by itself.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How it is printed."""
    add_output_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the path of the interpreter, for the variable PYSPARK_PYTHON."""
    require_pyspark()
    if not has_script():
        raise OttlaError(
            "the interpreter for Spark's workers is a shell script, which this system does not run"
        )
    # Compiled here, the loops over records need not be compiled by the first task.
    from ottla.pipeline.compiled import warm

    warm()
    found = str(worker_python())
    if arguments.output == "table":
        print(found)
    else:
        show_one({"python": found}, arguments.output)
    return 0
