"""`ottla context`: one file per verb."""
