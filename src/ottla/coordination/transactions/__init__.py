"""Transactions across partitions."""
