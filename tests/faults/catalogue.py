"""The table of all faults."""

from __future__ import annotations

from typing import Final

from tests.faults.clocks import CLOCKS
from tests.faults.damages import DAMAGES
from tests.faults.disks import DISKS
from tests.faults.fault import Fault
from tests.faults.kills import KILLS
from tests.faults.moves import MOVES
from tests.faults.outages import OUTAGES
from tests.faults.partitions import PARTITIONS
from tests.faults.pauses import PAUSES

FAULTS: Final[tuple[Fault, ...]] = (
    *KILLS,
    *PAUSES,
    *MOVES,
    *PARTITIONS,
    *DISKS,
    *DAMAGES,
    *CLOCKS,
    *OUTAGES,
)
BY_NAME: Final = {fault.name: fault for fault in FAULTS}
