"""Pure: what goes wrong with connectors, in words for the person who wrote the configuration."""

from __future__ import annotations

from ottla.base.errors import OttlaError


class ConnectError(OttlaError):
    """A connector, a transform or a converter cannot go on."""


class DataInvalid(ConnectError):
    """A record does not fit what a connector, transform or converter was configured for."""


class NotThereYet(ConnectError):
    """Something that a connector needs may come at any moment, such as a topic that nobody has made yet."""


class ConfigInvalid(ConnectError):
    """A configuration is wrong; `problems` are sentences by the name of the setting."""

    def __init__(self, problems: dict[str, list[str]]) -> None:
        self.problems = problems
        super().__init__("\n".join(text for texts in problems.values() for text in texts))
