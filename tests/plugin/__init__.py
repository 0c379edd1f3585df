"""A test-suite that uses the pytest plugin, as a user's would, and the tests that run it."""
