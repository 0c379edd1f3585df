"""`ottla cluster`: one file per verb."""
