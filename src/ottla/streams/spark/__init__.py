"""The runtime of stream applications on Spark: the only part of `ottla.streams` that imports pyspark."""
