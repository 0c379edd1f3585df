"""Confluent REST API v3."""
