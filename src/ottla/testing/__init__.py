"""Real brokers for test-suites: a pytest plugin and a context manager."""
