"""`ottla spark`: one file per verb."""
