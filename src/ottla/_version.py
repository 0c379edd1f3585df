"""The version of ottla, read by the build and by `ottla --version`."""

__version__ = "0.1.0"
