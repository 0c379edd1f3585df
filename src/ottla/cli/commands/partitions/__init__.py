"""`ottla partitions`: one file per verb."""
