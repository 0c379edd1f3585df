"""One hosted partition, as leader or follower."""
