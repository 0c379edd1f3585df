"""REST as a program meets it: a real service in front of a real broker, over real HTTP."""
