"""Connectors: one file each; what they have in common is in connector.py."""
