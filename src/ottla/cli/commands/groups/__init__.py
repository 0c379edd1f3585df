"""`ottla groups`: one file per verb."""
