"""The log on disk, in Kafka's own format."""
