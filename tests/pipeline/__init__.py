"""Spark against real brokers: the connector, and the guarantees it gives."""
