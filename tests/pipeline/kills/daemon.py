"""The daemon that Spark forks its Python workers from, with what they need imported once for all of them."""

import sys
from importlib import import_module

from pyspark.daemon import manager

if __name__ == "__main__":
    if sys.argv[1:] == ["pyspark.worker"]:
        for name in ("decoding", "reading", "sink_task"):
            import_module(f"ottla.pipeline.{name}")
    manager()
