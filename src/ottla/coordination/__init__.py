"""Groups and transactions: decide, append, replay, reply."""
