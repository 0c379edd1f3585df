"""Pure: how keys and values become bytes, and back."""
