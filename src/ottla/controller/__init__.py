"""Who leads what: decisions about topics and partitions."""
