"""`ottla`: finds the command and runs it; whatever goes wrong ends in one sentence and an exit code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from ottla.base.errors import OttlaError
from ottla.cli.parsing import Parser, UsageError, complain, parse


def main(argv: Sequence[str] | None = None) -> int:
    """Run `ottla ARGV`; the exit code."""
    arguments = parse(sys.argv[1:] if argv is None else list(argv))
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # Whoever read on has read enough. Python would complain at exit otherwise.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except UsageError as refused:
        parser: Parser = arguments.parser
        parser.error(str(refused))
    except (OttlaError, OSError) as failure:
        complain(f"{arguments.parser.prog}: {_sentence(failure)}")
        return 1


def _sentence(failure: Exception) -> str:
    if isinstance(failure, OSError) and failure.filename is not None:
        return f"{failure.filename}: {failure.strerror}"
    return str(failure)
