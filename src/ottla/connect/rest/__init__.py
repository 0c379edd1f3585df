"""Kafka Connect's REST API: paths, answers and errors as its documentation has them."""
