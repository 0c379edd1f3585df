"""Who gets which partitions of a consumer group."""
