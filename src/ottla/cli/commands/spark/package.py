"""`ottla spark package`: an archive for spark-submit --archives, so that workers need no ottla of their own."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from ottla.base.errors import OttlaError
from ottla.base.progress import Progress
from ottla.cli.output import add_output_argument, show_one
from ottla.cli.spark_package import package_files, write_package
from ottla.pipeline.requirements import require_pyspark

EXAMPLES = """examples:
  ottla spark package
  ottla spark package --to /tmp/ottla-spark.tar.gz
Workers must have the same Python as this one, and the same kind of machine; they need nothing else.
"""
_DEFAULT: Final = "ottla-spark.tar.gz"
_ENDINGS: Final = (".tar.gz", ".tgz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where it goes."""
    parser.add_argument(
        "--to", type=Path, default=Path(_DEFAULT), metavar="FILE", help=f"(default: {_DEFAULT})"
    )
    add_output_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the archive, and say how it is used."""
    to: Path = arguments.to
    if not to.name.endswith(_ENDINGS):
        raise OttlaError(f"--to {to}: Spark knows an archive by its name; end it with .tar.gz")
    require_pyspark()
    # What is compiled here need not be compiled on every worker; it takes a second to see that it is.
    from ottla.pipeline.compiled import warm

    warm()
    files = package_files()
    progress = Progress("bytes packed", sum(path.stat().st_size for path in files.values()))
    size = write_package(to, files, progress.advance)
    progress.close()
    submit = submit_options(to)
    if arguments.output == "table":
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        print(f"{to}: {len(files)} files, {size / 1e6:.0f} MB, for workers with Python {python}")
        print(f"spark-submit {' '.join(submit)} JOB.py")
    else:
        row = {"archive": str(to), "files": len(files), "bytes": size, "submit": " ".join(submit)}
        show_one(row, arguments.output)
    return 0


def submit_options(archive: Path) -> list[str]:
    """What makes Spark unpack the archive beside each executor, and Python look into it."""
    return ["--archives", f"{archive}#ottla", "--conf", "spark.executorEnv.PYTHONPATH=./ottla"]
