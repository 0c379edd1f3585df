"""`ottla sinks`: one file per verb."""
