"""Predicates decide which records a transform is applied to: one file per predicate of Kafka Connect."""
