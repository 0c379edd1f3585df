"""The versioned metadata tree and the image brokers keep of it."""
