"""The console as a person meets it: a real browser, a real service, a real broker."""
