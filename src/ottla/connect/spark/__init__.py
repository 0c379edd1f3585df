"""Connectors as Spark streaming queries: the part of Connect that imports pyspark."""
