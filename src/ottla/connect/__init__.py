"""Connect on Spark: connectors move data between a cluster and other systems, with Kafka Connect's API and names."""
