"""REST: Confluent's v2 and v3, and what they lack."""
