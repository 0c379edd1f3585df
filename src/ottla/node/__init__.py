"""Builds a broker from its settings; start and stop order."""
