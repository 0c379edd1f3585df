"""One file per command of `ottla`."""
