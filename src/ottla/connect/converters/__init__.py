"""Converters between records and the bytes in topics: one file per format."""
