"""The records of runs that the command `unjank` keeps.

    import pandas as pd
    from unjank import runs

    store = runs.open()
    pd.DataFrame(store.list("jitter native", limit=10))
    record = store.record("last")
    pd.DataFrame(runs.facts(record))
    pd.DataFrame(store.compare("last~1", "last")["effects"])

Functions that return columns return a dict of lists of equal length, which pandas, Polars and
PyArrow take as it is. docs/run.schema.json describes records.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from unjank import _native

__all__ = ["Store", "curves", "default_path", "facts", "open", "read", "series", "table"]

Record = dict[str, Any]
Columns = dict[str, list[Any]]

QUANTILES = ("min", "p50", "p90", "p99", "p99.9", "p99.99", "max")


class Store:
    """A store of run records. Each call opens the file anew, as the command may write to it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises OSError if there is no store that can be read."""
        self._store = _native.Store(os.fspath(path))

    def list(self, command: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
        """The runs, the latest first: all, those of a command, or those of a group of commands
        such as "jitter".
        """
        return json.loads(self._store.list(command, limit))

    def record(self, run: str = "last") -> Record:
        """A record: by its id or the beginning of it, or "last", and "last~1" for the one before.

        Raises LookupError if there is no such run.
        """
        return json.loads(self._store.record(run))

    def compare(
        self, before: str, after: str, *, min_effect: float = 0.02, seed: int = 1
    ) -> dict[str, Any]:
        """Compares two runs, as `unjank runs compare` does.

        Differences below the share `min_effect` are ignored. Other runs of the store show how far
        runs differ without a change.
        """
        return json.loads(self._store.compare(before, after, min_effect, seed))


def default_path() -> Path:
    """Where the command keeps the runs of this user."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "unjank" / "runs.sqlite"


def open(path: str | os.PathLike[str] | None = None) -> Store:
    """Opens a store, by default that of this user.

    Raises OSError if there is none that can be read.
    """
    return Store(default_path() if path is None else path)


def read(path: str | os.PathLike[str]) -> Record:
    """Reads a record from a file that a command wrote with `--json`. Older records are converted.

    Raises OSError if the file cannot be read, and ValueError if it is no record.
    """
    return json.loads(_native.record_of_file(os.fspath(path)))


def facts(record: Record) -> Columns:
    """The single numbers of a run: name, value, unit, the ends of the 95 % interval, n, labels."""
    rows = [
        {
            "name": fact["name"],
            "value": fact["value"],
            "unit": fact["unit"],
            **_interval(fact.get("interval")),
            "n": fact.get("n"),
            **fact.get("labels", {}),
        }
        for fact in record.get("facts", [])
    ]
    return _columns(["name", "value", "unit", "low", "high", "n"], rows)


def series(record: Record) -> Columns:
    """The distributions of a run: name, unit, n, quantiles, labels. Times are in nanoseconds.

    Do not average quantiles: compare runs with `Store.compare`, which has all samples.
    """
    rows = [
        {
            "name": one["name"],
            "unit": one["unit"],
            "n": one["n"],
            "missed": one.get("missed", 0),
            **{name: (one.get("summary") or {}).get(name) for name in QUANTILES},
            **one.get("labels", {}),
        }
        for one in record.get("series", [])
    ]
    return _columns(["name", "unit", "n", "missed", *QUANTILES], rows)


def curves(record: Record) -> Columns:
    """The curves of a run, such as miss ratios by size: a row for each point."""
    rows = [
        {
            "name": curve["name"],
            "x": point["x"],
            "y": point["y"],
            **_interval(point.get("interval")),
            **curve.get("labels", {}),
        }
        for curve in record.get("curves", [])
        for point in curve["points"]
    ]
    return _columns(["name", "x", "y", "low", "high"], rows)


def table(record: Record, name: str) -> Columns:
    """A table of a run, such as "why/split". Numbers have the unit of their column.

    A column with second numbers is followed by one named "… beside".
    Raises LookupError if the run has no such table.
    """
    tables = record.get("tables", [])
    found = next((one for one in tables if one["name"] == name), None)
    if found is None:
        names = ", ".join(one["name"] for one in tables) or "none"
        raise LookupError(f"no table {name!r} in this run; it has {names}")
    columns: Columns = {}
    for index, column in enumerate(found["columns"]):
        cells = [row[index] for row in found["rows"]]
        columns[column["name"]] = [_value(cell) for cell in cells]
        if "beside" in column:
            columns[f"{column['name']} beside"] = [
                cell.get("beside") if isinstance(cell, dict) else None for cell in cells
            ]
    return columns


def _value(cell: Any) -> Any:
    return cell["value"] if isinstance(cell, dict) else cell


def _interval(interval: list[float] | None) -> dict[str, float | None]:
    low, high = interval or (None, None)
    return {"low": low, "high": high}


def _columns(first: Iterable[str], rows: list[dict[str, Any]]) -> Columns:
    """Rows as columns; labels that only some rows have are None in the others."""
    names = dict.fromkeys([*first, *(name for row in rows for name in row)])
    return {name: [row.get(name) for row in rows] for name in names}
