"""Pure: stream applications as in Kafka Streams: importable without pyspark."""
