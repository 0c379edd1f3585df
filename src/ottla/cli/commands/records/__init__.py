"""`ottla records`: one file per verb."""
