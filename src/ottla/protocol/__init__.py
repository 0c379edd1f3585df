"""Kafka's wire protocol: bytes to values and back."""
