"""Sweeps of swap tiers on a cluster.

    from dask.distributed import Client
    from unjank import cluster

    client = Client("scheduler:8786")
    table = cluster.sweep(
        client,
        ["s3://traces/a.parquet", "/data/b.oracleGeneral.zst"],
        tiers=["32MiB", "128MiB"],
        memories=["300MiB", "600MiB"],
        out="sweep",
    )

A unit of work is one trace with one size of memory, as in `unjank swap sweep`. Its key is a hash of
the trace's content and of everything else that determines its result. `out` is a directory with one
Parquet file for each unit, so a sweep that is cut off, or has more units the next time, computes
only what is missing. Rows and numbers are those of the command's `--out`.

`client` is a Dask client, the module `ray` after `ray.init()`, or any executor of
`concurrent.futures`. Workers need this package; with Dask and Ray, PyArrow as well only where
`sweep` is called.
"""

import concurrent.futures
import contextlib
import dataclasses
import json
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from unjank import _native

__all__ = ["Grid", "Unit", "policies", "sweep", "units"]

Size = int | str

_UNITS = {"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}


@dataclasses.dataclass(frozen=True)
class Grid:
    """What is simulated for each trace. Sizes are bytes, or texts such as "64MiB"."""

    tiers: Sequence[Size]
    """Sizes of the tier."""
    policies: Sequence[str] = ("all",)
    """Policies of the tier; "all" stands for all of them."""
    memories: Sequence[Size] = ()
    """Sizes of the memory of programs; none to replay the requests of a real memory. Synthetic
    phones have their own by default."""
    memory_policy: str = "two-list"
    readahead: int = 0
    format: str | None = None
    columns: str | None = None
    skip_bad: bool = False
    seed: int = 1


@dataclasses.dataclass(frozen=True)
class Unit:
    """One trace with one size of memory."""

    trace: str
    """A path or URL, or a preset after "synthetic: "."""
    memory: int | None
    grid: Grid


def policies() -> list[str]:
    """The names of all policies of a tier."""
    return _native.tier_policies()


def units(traces: Iterable[str | os.PathLike[str]], grid: Grid) -> list[Unit]:
    """The units of a sweep: each trace with each size of memory."""
    memories = [_bytes(size) for size in grid.memories] or [None]
    return [Unit(os.fspath(trace), memory, grid) for trace in traces for memory in memories]


def sweep(
    client: Any,
    traces: Iterable[str | os.PathLike[str]],
    grid: Grid | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    ship: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Any:
    """Simulates every unit on the cluster and returns all rows as a PyArrow table.

    `grid` says what is simulated; instead, its fields can be given as keywords. With `out`, each
    finished unit is a file in that directory, and units that are there are not computed again.

    Workers open traces by the same path or URL (with fsspec: `s3://`, `gs://`, `https://` …). With
    `ship`, the content of local files is sent to them. `progress` is called with the number of
    finished units and of all.

    On Dask, a unit takes as much of the worker resource `MEMORY` as it needs, in bytes, where
    workers have it (`dask worker --resources MEMORY=16e9`).

    A trace that cannot be read or simulated is left out with a warning; RuntimeError is raised if
    none can.
    """
    grid = grid or Grid(**options)
    if isinstance(grid.policies, str):
        raise TypeError("policies is a sequence of names, such as [\"paper\"]")
    # What is wrong for all traces is an error here.
    _tiers(grid), _policies(grid)
    results = Path(out) if out is not None else None
    if results is not None:
        results.mkdir(parents=True, exist_ok=True)
    cluster = _cluster(client)
    every = units(traces, grid)
    content = _content(every) if ship else {}
    sent = {trace: cluster.send(data) for trace, data in content.items()}
    rows: dict[int, list[dict[str, Any]]] = {}
    left_out: dict[str, str] = {}
    keys: dict[int, str] = {}
    todo: list[int] = []
    memory: dict[int, int] = {}

    def failed(index: int, error: BaseException) -> None:
        left_out.setdefault(every[index].trace, str(error))

    looks = [(_look, (unit, sent.get(unit.trace), cluster.places_by_memory), 0) for unit in every]
    for index, look, error in cluster.run(looks):
        if error is not None:
            failed(index, error)
            continue
        keys[index], memory[index] = look
        there = _read(results, keys[index], every[index].trace) if results else None
        if there is not None and _is_whole(there, grid):
            rows[index] = there
        else:
            todo.append(index)
    todo.sort()
    if progress:
        progress(len(rows), len(every))
    work = [(_simulate, (every[at], sent.get(every[at].trace)), memory[at]) for at in todo]
    for number, cells, error in cluster.run(work):
        index = todo[number]
        if error is not None:
            failed(index, error)
            continue
        rows[index] = cells
        if results is not None:
            _write(results, keys[index], cells)
        if progress:
            progress(len(rows), len(every))
    if every and not rows:
        raise RuntimeError(f"no trace could be simulated: {left_out}")
    for trace, error in left_out.items():
        warnings.warn(f"{trace} is left out: {error}", stacklevel=2)
    return _table([row for index in sorted(rows) for row in _wanted(rows[index], grid)])


# What workers do.


def _look(unit: Unit, data: bytes | None, memory: bool) -> tuple[str, int]:
    """The key of a unit; and the memory that it needs, in bytes, which takes another pass."""
    with _native_unit(unit, data) as native:
        return native.key(), _memory(*native.count()) if memory else 0


def _memory(events: int, pages: int) -> int:
    """For the process, and for each event and page. Measured sweeps took 36 to 78 % of it."""
    return (64 << 20) + 8 * events + 128 * pages


def _simulate(unit: Unit, data: bytes | None) -> list[dict[str, Any]]:
    """The rows of a unit, as in the command's table. One thread: a worker has one for each unit."""
    with _native_unit(unit, data) as native:
        return [_row(cell) for cell in json.loads(native.run(1))]


@contextlib.contextmanager
def _native_unit(unit: Unit, data: bytes | None) -> Iterator[_native.Unit]:
    grid = unit.grid
    with _local(unit.trace, data) as path:
        yield _native.Unit(
            path,
            name=unit.trace,
            memory=unit.memory,
            tiers=_tiers(grid),
            policies=_policies(grid),
            format=grid.format,
            columns=grid.columns,
            skip_bad=grid.skip_bad,
            memory_policy=grid.memory_policy,
            readahead=grid.readahead,
            seed=grid.seed,
        )


@contextlib.contextmanager
def _local(trace: str, data: bytes | None) -> Iterator[str]:
    """The trace as a file of this machine."""
    if data is None and "://" not in trace:
        yield trace
        return
    with tempfile.NamedTemporaryFile(suffix=Path(trace).name[-40:]) as file:
        if data is not None:
            file.write(data)
        else:
            import fsspec
            import shutil

            with fsspec.open(trace, "rb") as remote:
                shutil.copyfileobj(remote, file, 1 << 20)
        file.flush()
        yield file.name


# Clusters.

RETRIES = 3
"""How often a unit is given to another worker after the first one died."""

Task = tuple[Callable[..., Any], tuple[Any, ...], int]
Result = tuple[int, Any, BaseException | None]


class _Executor:
    """Executors of concurrent.futures."""

    places_by_memory = False

    def __init__(self, executor: concurrent.futures.Executor) -> None:
        self.executor = executor

    def send(self, data: bytes) -> Any:
        return data

    def run(self, tasks: list[Task]) -> Iterator[Result]:
        futures = {
            self.executor.submit(function, *arguments): index
            for index, (function, arguments, _) in enumerate(tasks)
        }
        for future in concurrent.futures.as_completed(futures):
            error = future.exception()
            yield futures[future], None if error else future.result(), error


class _Dask:
    """A client of Dask."""

    def __init__(self, client: Any) -> None:
        self.client = client
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        self.places_by_memory = bool(workers) and all("MEMORY" in it["resources"] for it in workers)

    def send(self, data: bytes) -> Any:
        return self.client.scatter(data, broadcast=False)

    def run(self, tasks: list[Task]) -> Iterator[Result]:
        from dask.distributed import as_completed

        futures = {}
        for index, (function, arguments, memory) in enumerate(tasks):
            resources = {"MEMORY": memory} if memory else None
            # Pure functions of their content, which Dask does not see.
            future = self.client.submit(
                function, *arguments, pure=False, resources=resources, retries=RETRIES
            )
            futures[future.key] = (index, future)
        for future in as_completed([future for _, future in futures.values()]):
            index, _ = futures.pop(future.key)
            error = future.exception()
            yield index, None if error else future.result(), error


class _Ray:
    """The module ray."""

    places_by_memory = True

    def __init__(self, ray: Any) -> None:
        self.ray = ray

    def send(self, data: bytes) -> Any:
        return self.ray.put(data)

    def run(self, tasks: list[Task]) -> Iterator[Result]:
        running = {}
        for index, (function, arguments, memory) in enumerate(tasks):
            remote = self.ray.remote(function).options(memory=memory or None, max_retries=RETRIES)
            running[remote.remote(*arguments)] = index
        while running:
            [future], _ = self.ray.wait(list(running), num_returns=1)
            index = running.pop(future)
            try:
                yield index, self.ray.get(future), None
            except Exception as error:
                yield index, None, error


def _cluster(client: Any) -> Any:
    if isinstance(client, concurrent.futures.Executor):
        return _Executor(client)
    if hasattr(client, "scheduler_info"):
        return _Dask(client)
    if hasattr(client, "remote") and hasattr(client, "wait"):
        return _Ray(client)
    raise TypeError("expected a Dask client, the module ray, or an executor of concurrent.futures")


# Rows and files.

_COUNTS = {
    "storage_reads": "storage_reads",
    "storage_writes": "storage_writes",
    "tier_reads": "tier_reads",
    "tier_writes": "tier_writes",
    "left_dirty": "left_dirty",
    "without_tier_ios": "without_tier",
    "page_ins": "page_ins",
    "page_outs": "page_outs",
    "clean_drops": "clean_drops",
    "over_budget": "over_budget",
    "metadata_bytes": "metadata",
}


def _row(cell: dict[str, Any]) -> dict[str, Any]:
    return {
        "trace": cell["trace"],
        "memory_bytes": cell["memory"],
        "tier_bytes": cell["tier"],
        "policy": cell["policy"],
        "storage_ios": cell["storage_reads"] + cell["storage_writes"],
        **{name: cell[field] for name, field in _COUNTS.items()},
        "launch_again_ns": cell["launch_again"],
    }


def _schema() -> Any:
    import pyarrow as pa

    texts = {"trace", "policy"}
    counts = ["memory_bytes", "tier_bytes", "policy", "storage_ios", *_COUNTS]
    kinds = [(name, pa.string() if name in texts else pa.uint64()) for name in ["trace", *counts]]
    return pa.schema([*kinds, ("launch_again_ns", pa.float64())])


def _table(rows: list[dict[str, Any]]) -> Any:
    import pyarrow as pa

    rows = sorted(
        rows, key=lambda row: (row["trace"], row["memory_bytes"], row["tier_bytes"], row["policy"])
    )
    return pa.Table.from_pylist(rows, schema=_schema())


def _write(results: Path, key: str, rows: list[dict[str, Any]]) -> None:
    """A file is there as a whole, or not at all."""
    import pyarrow.parquet as pq

    new = results / f".{key}.{os.getpid()}.new"
    pq.write_table(_table(rows), new, compression="zstd")
    os.replace(new, results / f"{key}.parquet")


def _read(results: Path, key: str, trace: str) -> list[dict[str, Any]] | None:
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(results / f"{key}.parquet").to_pylist()
    except FileNotFoundError:
        return None
    # A trace may have moved.
    return [{**row, "trace": trace} for row in rows]


def _wanted(rows: list[dict[str, Any]], grid: Grid) -> list[dict[str, Any]]:
    tiers, names = set(_tiers(grid)), set(_policies(grid))
    return [row for row in rows if row["tier_bytes"] in tiers and row["policy"] in names]


def _is_whole(rows: list[dict[str, Any]], grid: Grid) -> bool:
    return len(_wanted(rows, grid)) == len(set(_tiers(grid))) * len(set(_policies(grid)))


def _content(every: list[Unit]) -> dict[str, bytes]:
    local = {unit.trace for unit in every if not unit.trace.startswith("synthetic: ")}
    return {trace: Path(trace).read_bytes() for trace in sorted(local) if "://" not in trace}


def _tiers(grid: Grid) -> list[int]:
    return sorted({_bytes(size) for size in grid.tiers})


def _policies(grid: Grid) -> list[str]:
    every = [policies() if typed == "all" else [typed] for typed in grid.policies]
    return list(dict.fromkeys(_native.tier_policy(name) for names in every for name in names))


def _bytes(size: Size) -> int:
    if isinstance(size, int):
        return size
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", size)
    unit = _UNITS.get(parts[2].upper()) if parts else None
    if parts is None or unit is None:
        raise ValueError(f"{size!r} is no size such as 64MiB")
    return round(float(parts[1]) * unit)
