"""ottla: Kafka's log, retold in Python."""

from ottla._version import __version__

__all__ = ["__version__"]
