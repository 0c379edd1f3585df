"""The worker: keeps configurations, offsets and status in topics, and runs connectors."""
