"""Runs of many devices.

Each device exports its runs, and the directories are copied together:

    unjank runs export --parquet fleet/

    from unjank import fleet

    buckets = fleet.read("fleet", command="jitter native")
    fleet.quantiles(buckets, by=["model", "kernel"])
    fleet.regressions(buckets, between="kernel", before="6.12.1", after="6.18.44", by=["model"])

Samples are in buckets that are the same in all runs, so distributions are added up and then asked
for quantiles: quantiles are never averaged. A bucket is at most 1/64 of its values wide, and
quantiles are the upper ends of buckets. Needs PyArrow and NumPy.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["add_up", "quantiles", "read", "regressions"]

SERIES = ("name", "labels", "unit")
"""What distinguishes series."""

COLUMNS = ("device", "model", "kernel", "architecture", "tool", *SERIES)

DRAWS = 2_000
FEWEST_DEVICES = 5


def read(
    place: str | os.PathLike[str],
    *,
    command: str | None = None,
    name: str | None = None,
    by: Sequence[str] = ("device", "model", "kernel", "tool"),
    client: Any = None,
) -> Any:
    """The samples of a data set as a PyArrow table: counts by bucket, series and the columns `by`.

    `command` and `name` select runs and series: "jitter native", "jitter/native/fifo/wakeup". Runs
    that several files hold count once. With a Dask client, its workers read and add up the files.
    """
    files = sorted(str(file) for file in (Path(place) / "buckets").rglob("*.parquet"))
    if command is not None:
        files = [file for file in files if f"/command={_plain(command)}/" in file]
    if not files:
        raise FileNotFoundError(f"no runs below {os.fspath(place)}/buckets")
    if client is None:
        return _read(files, name, list(by))
    size = max(1, len(files) // (8 * max(1, sum(client.nthreads().values()))))
    # All files of a day and command stay together, as one of them may repeat the runs of another.
    parts = _parts(files, size)
    tables = client.gather(client.map(_read, parts, name=name, by=list(by), pure=False))
    return add_up(tables)


def add_up(tables: Iterable[Any]) -> Any:
    """Adds up the counts of tables of buckets."""
    import pyarrow as pa

    whole = pa.concat_tables(tables, promote_options="default")
    return _sum(whole, [column for column in whole.column_names if column != "count"])


def quantiles(
    buckets: Any, *, by: Sequence[str] = (), q: Sequence[float] = (0.5, 0.9, 0.99, 0.999)
) -> Any:
    """The quantiles of each series, over all devices or for each value of the columns `by`.

    A quantile is missing (null) where fewer than 10 samples lie above it.
    """
    import numpy as np
    import pyarrow as pa

    keys = [*by, *SERIES]
    table = _sum(buckets, [*keys, "at"]).sort_by([(key, "ascending") for key in [*keys, "at"]])
    starts = _starts(table, keys)
    at = table["at"].to_numpy()
    count = table["count"].to_numpy().astype(np.int64)
    rows = []
    for begin, end in zip(starts, [*starts[1:], table.num_rows]):
        so_far = np.cumsum(count[begin:end])
        n = int(so_far[-1])
        row = {key: table[key][begin].as_py() for key in keys}
        row["n"] = n
        for one in q:
            known = n - np.ceil(one * n) >= 10
            row[_name(one)] = int(at[begin + _place(so_far, one)]) if known else None
        rows.append(row)
    kinds = [(key, table.schema.field(key).type) for key in keys]
    numbers = [("n", pa.int64()), *((_name(one), pa.uint64()) for one in q)]
    return pa.Table.from_pylist(rows, schema=pa.schema([*kinds, *numbers]))


def regressions(
    buckets: Any,
    *,
    between: str,
    before: str,
    after: str,
    by: Sequence[str] = ("model",),
    q: float = 0.99,
    min_effect: float = 0.02,
    fdr: float = 0.05,
    seed: int = 1,
) -> Any:
    """Compares a quantile of each series before and after a change, in each group of devices.

    `between` is a column, such as "kernel" or "tool", and `before` and `after` are two of its
    values. Devices are what is drawn: the interval of the change is from a bootstrap over devices,
    so a device with many samples does not count as many. Answers are "worse", "better", "same"
    (the whole interval is within `min_effect`) and "cannot_tell"; more is taken for worse. The share
    of wrong "worse" and "better" among all of these is at most `fdr` (Benjamini and Hochberg, Journal
    of the Royal Statistical Society B 57, 1995).
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if before == after:
        raise ValueError("before and after are the same")
    sides = buckets.filter(pc.is_in(buckets[between], pa.array([before, after])))
    keys = [*by, *SERIES]
    table = _sum(sides, [*keys, between, "device", "at"])
    table = table.sort_by([(key, "ascending") for key in [*keys, between, "device", "at"]])
    random = np.random.default_rng(seed)
    rows = []
    starts = _starts(table, keys)
    for begin, end in zip(starts, [*starts[1:], table.num_rows]):
        part = table.slice(begin, end - begin)
        row = {key: part[key][0].as_py() for key in keys}
        rows.append(row | _change(part, between, before, after, q, min_effect, random))
    _decide(rows, fdr, min_effect)
    kinds = [(key, table.schema.field(key).type) for key in keys]
    return pa.Table.from_pylist(
        rows,
        schema=pa.schema(
            [
                *kinds,
                ("devices_before", pa.int64()),
                ("devices_after", pa.int64()),
                ("before", pa.uint64()),
                ("after", pa.uint64()),
                ("change", pa.float64()),
                ("low", pa.float64()),
                ("high", pa.float64()),
                ("p", pa.float64()),
                ("answer", pa.string()),
            ]
        ),
    )


def _change(
    part: Any, between: str, before: str, after: str, q: float, min_effect: float, random: Any
) -> dict[str, Any]:
    import numpy as np
    import pyarrow.compute as pc

    at, columns = np.unique(part["at"].to_numpy(), return_inverse=True)
    counts = part["count"].to_numpy()
    matrices = []
    for side in [before, after]:
        here = pc.equal(part[between], side).to_numpy(zero_copy_only=False)
        names = part["device"].to_numpy(zero_copy_only=False)[here]
        devices, lines = np.unique(names.astype(str), return_inverse=True)
        matrix = np.zeros((len(devices), len(at)))
        np.add.at(matrix, (lines, columns[here]), counts[here])
        matrices.append(matrix)
    numbers = [len(matrix) for matrix in matrices]
    row = {"devices_before": numbers[0], "devices_after": numbers[1]}
    if min(numbers) == 0:
        return row
    seen = [int(at[_place(np.cumsum(matrix.sum(axis=0)), q)]) for matrix in matrices]
    row |= {"before": seen[0], "after": seen[1], "change": _relative(*seen)}
    if min(numbers) < FEWEST_DEVICES:
        return row
    drawn = []
    for matrix in matrices:
        n = len(matrix)
        weights = random.multinomial(n, np.full(n, 1 / n), size=DRAWS)
        so_far = np.cumsum(weights @ matrix, axis=1)
        wanted = np.ceil(q * so_far[:, -1:])
        drawn.append(at[(so_far < wanted).sum(axis=1)].astype(float))
    changes = _relative(*drawn)
    low, high = np.quantile(changes, [0.025, 0.975])
    # Draws without a change that matters, or with one in the other direction.
    is_worse = row["change"] > 0
    against = np.sum(changes <= min_effect) if is_worse else np.sum(changes >= -min_effect)
    p = min(1.0, 2 * (int(against) + 1) / (DRAWS + 1))
    return row | {"low": low, "high": high, "p": p}


def _decide(rows: list[dict[str, Any]], fdr: float, min_effect: float) -> None:
    """Adds an answer to each row."""
    asked = sorted((row["p"], index) for index, row in enumerate(rows) if "p" in row)
    found = 0
    for rank, (p, _) in enumerate(asked, start=1):
        if p <= fdr * rank / len(asked):
            found = rank
    differs = {index for _, index in asked[:found]}
    for index, row in enumerate(rows):
        if index in differs:
            row["answer"] = "worse" if row["change"] > 0 else "better"
        elif "p" in row and max(abs(row["low"]), abs(row["high"])) <= min_effect:
            row["answer"] = "same"
        else:
            row["answer"] = "cannot_tell"


def _relative(before: Any, after: Any) -> Any:
    # Buckets begin with 0: so a change from 0 is large and not infinite.
    return (after + 1.0) / (before + 1.0) - 1.0


def _read(files: list[str], name: str | None, by: list[str]) -> Any:
    """The sums of files. Of a run that several files hold, only the first counts."""
    import numpy as np
    import pyarrow.parquet as pq

    unknown = set(by) - set(COLUMNS)
    if unknown:
        raise ValueError(f"unknown columns {sorted(unknown)}; there are {list(COLUMNS)}")
    keys = list(dict.fromkeys([*by, *SERIES]))
    texts = [*keys, "run"]
    seen: set[str] = set()
    sums: dict[tuple[str | None, ...], list[tuple[Any, Any]]] = {}
    for file in files:
        table = pq.ParquetFile(file, read_dictionary=texts).read(columns=[*texts, "at", "count"])
        here = _Codes(table["run"])
        wanted = here.where(lambda run: run not in seen)
        seen.update(here.values)
        if name is not None:
            wanted &= _Codes(table["name"]).where(lambda other: other == name)
        columns = [_Codes(table[key]) for key in keys]
        codes = np.zeros(table.num_rows, dtype=np.int64)
        for column in columns:
            codes = codes * (len(column.values) + 1) + column.codes
        at, count = table["at"].to_numpy(), table["count"].to_numpy()
        for code in np.unique(codes[wanted]):
            rows = np.flatnonzero(wanted & (codes == code))
            key = tuple(column.value(rows[0]) for column in columns)
            sums.setdefault(key, []).append((at[rows], count[rows]))
    return _summed(keys, sums)


class _Codes:
    """A column of texts as numbers: 0 for null, and from 1 on the texts in `values`."""

    def __init__(self, column: Any) -> None:
        column = column.combine_chunks()
        if not hasattr(column, "dictionary"):
            column = column.dictionary_encode()
        self.values = column.dictionary.to_pylist()
        self.codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype("int64") + 1

    def value(self, row: int) -> str | None:
        code = self.codes[row]
        return self.values[code - 1] if code else None

    def where(self, wanted: Callable[[str], bool]) -> Any:
        import numpy as np

        return np.array([False, *map(wanted, self.values)])[self.codes]


def _summed(keys: list[str], sums: dict[tuple[str | None, ...], list[tuple[Any, Any]]]) -> Any:
    """Sums by key and bucket as a table."""
    import numpy as np
    import pyarrow as pa

    lengths, ats, counts = [], [], []
    for parts in sums.values():
        at, places = np.unique(np.concatenate([at for at, _ in parts]), return_inverse=True)
        count = np.zeros(len(at), dtype=np.uint64)
        np.add.at(count, places, np.concatenate([count for _, count in parts]))
        lengths.append(len(at))
        ats.append(at)
        counts.append(count)
    repeats = np.repeat(np.arange(len(lengths)), lengths)
    columns = {
        key: pa.array([names[index] for names in sums], pa.string()).take(pa.array(repeats))
        for index, key in enumerate(keys)
    }
    none = np.zeros(0, dtype=np.uint64)
    columns["at"] = pa.array(np.concatenate([none, *ats]))
    columns["count"] = pa.array(np.concatenate([none, *counts]))
    return pa.table(columns)


def _parts(files: list[str], size: int) -> list[list[str]]:
    parts: list[list[str]] = []
    last = None
    for file in files:
        day = os.path.dirname(file)
        if not parts or (len(parts[-1]) >= size and day != last):
            parts.append([])
        parts[-1].append(file)
        last = day
    return parts


def _sum(table: Any, keys: list[str]) -> Any:
    import pyarrow as pa

    keys = list(dict.fromkeys(keys))
    summed = table.group_by(keys).aggregate([("count", "sum")])
    summed = summed.rename_columns([*summed.column_names[:-1], "count"])
    return summed.set_column(len(keys), "count", summed["count"].cast(pa.uint64()))


def _starts(table: Any, keys: list[str]) -> list[int]:
    """The first rows of groups of a sorted table."""
    import numpy as np

    if table.num_rows == 0:
        return []
    new = np.zeros(table.num_rows, dtype=bool)
    new[0] = True
    for key in keys:
        codes = table[key].combine_chunks().dictionary_encode()
        indices = codes.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        new[1:] |= indices[1:] != indices[:-1]
    return np.flatnonzero(new).tolist()


def _place(so_far: Any, q: float) -> int:
    import numpy as np

    return int(np.searchsorted(so_far, np.ceil(q * so_far[-1])))


def _name(q: float) -> str:
    return f"p{q * 100:g}"


def _plain(text: str) -> str:
    """As the command names directories."""
    fine = "-_."
    return "".join(sign if sign.isascii() and (sign.isalnum() or sign in fine) else "-" for sign in text)
