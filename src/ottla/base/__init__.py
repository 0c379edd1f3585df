"""What every layer may lean on; nothing here knows Kafka."""
