"""REST and the console: a client of the wire protocol, in a process of its own."""
