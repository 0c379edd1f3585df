"""`ottla brokers`: one file per verb."""
