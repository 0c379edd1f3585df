"""Where Spark looks for data sources: any package named pyspark_* with a DefaultSource."""

from ottla.pipeline.source import OttlaSource as DefaultSource

__all__ = ["DefaultSource"]
