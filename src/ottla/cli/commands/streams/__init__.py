"""`ottla streams`: one file per verb."""
