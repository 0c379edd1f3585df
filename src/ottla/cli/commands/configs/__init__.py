"""`ottla configs`: one file per verb."""
