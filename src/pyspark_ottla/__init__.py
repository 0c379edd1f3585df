"""Where Spark looks for data sources: any package named pyspark_* with a DefaultSource."""

import sys

from ottla.pipeline.source import OttlaSource as DefaultSource
from ottla.pipeline.worker_settling import end_quietly

__all__ = ["DefaultSource"]

# Whoever looks is a worker that does nothing else, and is let go of a minute later.
end_quietly(sys.modules["__main__"])
