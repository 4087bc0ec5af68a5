"""Traces of storage and swap.

A trace is opened by its path, compressed or not, and its format is detected:

    import pyarrow as pa
    from unjank import traces

    trace = traces.open("game.parquet")
    table = pa.table(trace)             # all events, through the Arrow C stream interface
    requests = trace.requests()         # for unjank.cache

Every use reads the file anew, so a trace takes no memory.
"""

import os
from collections.abc import Iterable

from unjank._native import Trace, formats

__all__ = ["Trace", "formats", "open"]


def open(
    *paths: str | os.PathLike[str],
    format: str | None = None,
    columns: str | None = None,
    skip_bad: bool = False,
    swap_devices: Iterable[str] = (),
) -> Trace:
    """Opens a trace; several files are merged by time.

    The options are those of `unjank swap mrc`: `columns` names the columns of a table without a
    header ("time,page,size"), and `skip_bad` counts malformed lines instead of raising.

    Raises OSError if a file cannot be read, and ValueError for an unknown or wrong format.
    """
    return Trace(
        [os.fspath(path) for path in paths],
        format=format,
        columns=columns,
        skip_bad=skip_bad,
        swap_devices=list(swap_devices),
    )
