"""`ottla transactions`: one file per verb."""
