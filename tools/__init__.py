"""Development tools: what tests and benchmarks need and the package itself does not."""
