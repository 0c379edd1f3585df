"""`ottla connect`: one file per verb."""
