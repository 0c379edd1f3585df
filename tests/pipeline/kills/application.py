"""What a driver is told: which streams to run, where, and on what."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.java import SHORT_LIVED

COPY = "copy"
COUNT = "count"
FRAMES = "frames"
EVEN, ODD = "-even", "-odd"

JVM = " ".join((*SHORT_LIVED, "-Xss512k"))


@dataclass(frozen=True)
class Job:
    """One stream, and the name of its sink, which is that of its topic, too."""

    sink: str
    kind: str = COPY
    format: str = "ottla"


@dataclass(frozen=True)
class Application:
    """What a driver is told: streams that all read one topic, until there is a file that says it is over."""

    bootstrap: str
    source: str
    directory: str
    jobs: tuple[Job, ...]
    master: str
    rows_per_batch: int = 1000
    sink_timeout: str = "15m"

    @property
    def over(self) -> Path:
        """The file that says that no more rows will come."""
        return Path(self.directory, "over")

    def argument(self) -> str:
        """The application as the one argument of this program."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, argument: str) -> Application:
        """The application out of the argument."""
        found = json.loads(argument)
        return cls(**{**found, "jobs": tuple(Job(**job) for job in found["jobs"])})
