"""`python held_broker.py STEPS broker ...`: a broker that can be held while it tells partitions how a group ended.

It goes on with everything else: only the markers of the sink that is held are not written, as if they were lost. The
coordinator asks for them again and again, as it does when a partition has no leader.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ottla.base.errors import ApiError
from ottla.coordination.transactions.ends import EndMarkers
from ottla.coordination.transactions.markers import MarkerWriter
from ottla.pipeline.sink_steps import is_mine, take

DECIDED = "decided"
FIRST_MARKER = "first-marker"
ABORTING = "aborting"

_write = MarkerWriter.__call__


def hold_markers(steps: Path) -> None:
    """Let the markers of this process wait at the steps of a directory."""

    def held(writer: MarkerWriter, markers: EndMarkers | ApiError) -> None:
        if isinstance(markers, ApiError) or not markers.partitions:
            _write(writer, markers)
            return
        sink = steps / markers.transactional_id.rpartition("/")[0]
        if _waits(sink, DECIDED if markers.committed else ABORTING):
            return
        if markers.committed and _armed(sink, FIRST_MARKER):
            _write(writer, markers._replace(partitions=markers.partitions[:1]))
            take(sink, FIRST_MARKER)
        elif not (markers.committed and is_mine(sink, FIRST_MARKER)):
            _write(writer, markers)

    MarkerWriter.__call__ = held  # type: ignore[method-assign]


def _waits(sink: Path, step: str) -> bool:
    return take(sink, step) or is_mine(sink, step)


def _armed(sink: Path, step: str) -> bool:
    return (sink / step).exists()


if __name__ == "__main__":
    from ottla.cli.main import main

    hold_markers(Path(sys.argv.pop(1)))
    sys.exit(main())
