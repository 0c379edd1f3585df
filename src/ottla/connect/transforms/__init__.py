"""Single message transforms: one file per transform of Kafka Connect."""
