"""Spark finds the data source `ottla` in this package, without registration."""
