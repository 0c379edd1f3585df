"""What a test-suite is given: brokers, topics, clusters, fault rules."""
