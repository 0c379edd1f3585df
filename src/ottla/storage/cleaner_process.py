"""The child process in which logs are compacted: jobs come by stdin, events go out by stdout.

    python -P -m ottla.storage.cleaner_process PARENT_PID

Compaction is loops in Python, so neither the broker's loop nor one of its threads may do it. The
process yields the processor to the broker, ends with its stdin, and dies with the broker, so that
no orphan writes into directories that the next broker already uses.
"""

import ctypes
import gc
import os
import signal
import sys

from ottla.base.errors import StorageError
from ottla.storage.cleaner import clean
from ottla.storage.cleaner_job import Event, Failed, decode_job, encode_event

_NICE = 10
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Do jobs until there are no more."""
    # A terminal sends its interrupt to both; the broker then ends this process in its own time.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with_parent(int(sys.argv[1]))
    os.nice(_NICE)
    gc.disable()  # nothing here is cyclic, and a walk over the map of keys takes long
    try:
        for line in sys.stdin.buffer:
            _do(line)
    except BrokenPipeError:
        # A broker that was killed closes its pipe a moment before it takes this process along.
        os._exit(1)


def _do(line: bytes) -> None:
    try:
        for event in clean(decode_job(line)):
            _tell(event)
    except StorageError as error:
        _tell(Failed(type(error).__name__, str(error)))


def _die_with_parent(parent_pid: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:  # it died before the line above
        sys.exit("the broker is gone")


def _tell(event: Event) -> None:
    sys.stdout.buffer.write(encode_event(event))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
