"""Confluent REST Proxy API v2: at the root, as its clients expect."""
