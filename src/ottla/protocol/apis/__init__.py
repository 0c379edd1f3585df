"""One file per API: its request and response, all versions."""
