"""Explained launches as tables.

`unjank why` explains where a launch or a running program loses its time. Its records are in the
store, or in a file that it wrote with `--json`:

    import pandas as pd
    from unjank import runs, why

    record = runs.open().record("last")         # of `unjank why -- CMD`
    pd.DataFrame(why.split(record))             # time by cause
    pd.DataFrame(why.path(record))              # the critical path, piece by piece
    pd.DataFrame(why.what_if(record))           # what remedies would save

Each function returns a dict of columns and raises LookupError if the run did not explain anything.
"""

from unjank import runs

__all__ = ["path", "split", "waits", "what_if"]


def split(record: runs.Record) -> runs.Columns:
    """The time on the critical path by cause. The causes sum to the whole time."""
    return runs.table(record, "why/split")


def path(record: runs.Record) -> runs.Columns:
    """The critical path in the order of time; short pieces are merged."""
    return runs.table(record, "why/path")


def waits(record: runs.Record) -> runs.Columns:
    """The longest waits on the critical path, and who ended them."""
    return runs.table(record, "why/waits")


def what_if(record: runs.Record) -> runs.Columns:
    """What each remedy is predicted to save. A prediction is not a measurement."""
    return runs.table(record, "why/what_if")
