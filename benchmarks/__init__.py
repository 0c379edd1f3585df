"""ottla and Apache Kafka side by side: the same clients, the same data, alternating runs."""
