"""What any HTTP interface here is made of: routes, calls, answers, errors, limits, OpenAPI."""
