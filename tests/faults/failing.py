"""`python -m tests.faults.failing FLAG broker ...`: runs `ottla` with a disk that fails from when the flag is there.

Every write and every sync ends with EIO then; what is in the page cache can still be read, as on a real disk.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def fail_with(flag: Path) -> None:
    """From now on writes and syncs of this process fail while the flag is there."""

    def failing(call: Callable[P, R]) -> Callable[P, R]:
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            if flag.exists():
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return call(*args, **kwargs)

        return checked

    os.pwrite = failing(os.pwrite)
    os.pwritev = failing(os.pwritev)
    os.fdatasync = failing(os.fdatasync)
    os.fsync = failing(os.fsync)


if __name__ == "__main__":
    fail_with(Path(sys.argv[1]))
    from ottla.cli.main import main

    sys.exit(main(sys.argv[2:]))
