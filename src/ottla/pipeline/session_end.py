"""How a program with a Spark session ends: without stack traces, whatever it left running, also after Ctrl-C."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from pyspark.sql import SparkSession

_STOP_WITHIN: Final = "10s"
"""A query whose own code hangs does not keep its program from ending."""

_CANCEL_WITHIN_S: Final = 5.0
_PY4J_ON_INTERRUPT: Final = {
    "root": "KeyboardInterrupt while sending command.",
    "py4j.clientserver": "Exception occurred while shutting down connection",
}
"""What py4j logs, with tracebacks, of a Ctrl-C that the program is told of anyway; by logger."""


def stop_at_exit(spark: SparkSession, remove_listener: Callable[[], None]) -> None:
    """Stop queries and Spark at the end of the program, unless the program did.

    The JVM dies with the program that started it, and prints a stack trace for each event that it cannot deliver
    any more. A JVM that others started, as spark-submit and notebooks do, goes on: it only loses the listener.
    """
    atexit.register(_stop, spark, os.getpid(), remove_listener)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold back the first Ctrl-C while Spark starts: a JVM that is let go of in the middle prints a stack trace.

    The second one counts at once, since a cluster that Spark waits for may never answer.
    """
    held: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        held.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is hold:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if held:
        raise KeyboardInterrupt


def interrupt_quietly(spark: SparkSession) -> None:
    """Let Ctrl-C cancel batch jobs and raise KeyboardInterrupt, and nothing more.

    PySpark's own handler talks to the JVM over the connection on which the program waits: that fails, and prints three
    tracebacks. It would cancel the jobs of streams, too, which then fail instead of being stopped.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread and _is_pysparks(signal.getsignal(signal.SIGINT)):

        def interrupted(number: int, frame: FrameType | None) -> None:
            cancelling = threading.Thread(target=_cancel_batch_jobs, args=(spark,), daemon=True)
            cancelling.start()
            cancelling.join(_CANCEL_WITHIN_S)
            raise KeyboardInterrupt

        signal.signal(signal.SIGINT, interrupted)
        for name in _PY4J_ON_INTERRUPT:
            logging.getLogger(name).addFilter(_is_not_of_interrupt)


def _stop(spark: SparkSession, pid: int, remove_listener: Callable[[], None]) -> None:
    context = spark.sparkContext
    if os.getpid() != pid or context._jsc is None:
        return
    if threading.current_thread() is threading.main_thread():
        # A second Ctrl-C ends the program at once.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    with suppress(Exception):
        # Whatever fails now: the JVM is gone already, and there is nobody left to tell.
        if getattr(context._gateway, "proc", None) is None:
            remove_listener()
            return
        spark.conf.set("spark.sql.streaming.stopTimeout", _STOP_WITHIN)
        for query in spark.streams.active:
            with suppress(Exception):
                query.stop()
        spark.stop()


def _is_pysparks(handler: object) -> bool:
    return getattr(handler, "__module__", None) == "pyspark.core.context"


def _is_not_of_interrupt(record: logging.LogRecord) -> bool:
    return record.msg != _PY4J_ON_INTERRUPT.get(record.name)


def _cancel_batch_jobs(spark: SparkSession) -> None:
    """Cancel the jobs without a group; those of a stream have one, and end when its query is stopped."""
    with suppress(Exception):
        context = spark.sparkContext
        tracker = context.statusTracker()
        for job in set(tracker.getActiveJobsIds()) & set(tracker.getJobIdsForGroup(None)):
            context._jsc.sc().cancelJob(job)
