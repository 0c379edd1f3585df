"""`ottla topics`: one file per verb."""
