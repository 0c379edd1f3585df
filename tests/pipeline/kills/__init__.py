"""Streams whose driver, executors, workers and brokers are killed at each named step; what they wrote counts once."""
