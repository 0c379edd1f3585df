"""librdkafka's own tests against a broker: those that pass on Apache Kafka must pass on ottla."""
