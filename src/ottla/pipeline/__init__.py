"""Data pipelines on Spark: the only package that imports pyspark.

`session()` opens Spark with everything set, `lag(query)` tells how far a stream is behind,
`write_stream(df, ...)` writes several frames of a stream as one.
What is named here is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ottla.pipeline.spark_session import session
    from ottla.pipeline.stream_lag import Lag, lag
    from ottla.pipeline.writing_stream import write_stream

_WHERE = {
    "Lag": ("ottla.pipeline.stream_lag", "Lag"),
    "lag": ("ottla.pipeline.stream_lag", "lag"),
    "session": ("ottla.pipeline.spark_session", "session"),
    "write_stream": ("ottla.pipeline.writing_stream", "write_stream"),
}

__all__ = ["Lag", "lag", "session", "write_stream"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _WHERE:
        raise AttributeError(f"module 'ottla.pipeline' has no attribute {name!r}")
    module, attribute = _WHERE[name]
    return getattr(import_module(module), attribute)
