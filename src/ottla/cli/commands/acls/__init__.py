"""`ottla acls`: one file per verb."""
