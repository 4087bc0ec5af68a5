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
`concurrent.futures`. Workers need this package; PyArrow is needed only where `sweep` is called.
"""

import concurrent.futures
import contextlib
import dataclasses
import json
import math
import operator
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from unjank import _native

__all__ = ["Grid", "Unit", "policies", "sweep", "units"]

Size = int | str
Row = dict[str, Any]
Place = tuple[int, str]
"""A size of the tier in bytes, and a policy."""

SYNTHETIC = "synthetic: "

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
    if isinstance(traces, (str, os.PathLike)):
        raise TypeError("traces is a sequence of paths, such as [\"trace.parquet\"]")
    names = [os.fspath(trace) for trace in traces]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{twice[0]} is given twice")
    memories = _sizes("memories", grid.memories) or [None]
    return [Unit(name, memory, grid) for name in names for memory in memories]


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
    finished unit is a file in that directory, and what is there is not computed again.

    Workers open traces by the same path or URL (with fsspec: `s3://`, `gs://`, `https://` …). With
    `ship`, the content of local files is sent to them. `progress` is called with the number of
    finished units and of all.

    On Dask, a unit takes as much of the worker resource `MEMORY` as it needs, in bytes, where
    workers have it (`dask worker --resources MEMORY=16e9`).

    A trace that cannot be read or simulated is left out with a warning; RuntimeError is raised if
    none can, or if workers died.
    """
    if grid is not None and options:
        raise TypeError(f"give either grid or {', '.join(options)}")
    grid = grid or Grid(**options)
    every = units(traces, grid)
    places = [(tier, policy) for tier in reversed(_tiers(grid)) for policy in _policies(grid)]
    natives = [_native_unit("", unit) for unit in every]
    results = Path(out) if out is not None else None
    if results is not None:
        results.mkdir(parents=True, exist_ok=True)
    cluster = _cluster(client)
    left_out: dict[str, str] = {}
    rows: dict[int, list[Row]] = {}

    def failed(trace: str, error: BaseException) -> None:
        if _is_of_workers(error):
            raise RuntimeError(f"workers died while they worked on {trace}") from error
        left_out.setdefault(trace, str(error))

    # Every trace is looked at once, whatever the sizes of memory.
    names = list(dict.fromkeys(unit.trace for unit in every))
    sent = {}
    for name in names if ship else []:
        try:
            sent[name] = cluster.send(_content(name))
        except OSError as error:
            failed(name, error)
    names = [name for name in names if name not in left_out]
    first = {unit.trace: unit for unit in reversed(every)}
    looks: dict[str, Look] = {}
    tasks = [(_look, (first[name], sent.get(name), cluster.places_by_memory), 0) for name in names]
    for number, look, error in cluster.run(tasks):
        if error is not None:
            failed(names[number], error)
        else:
            looks[names[number]] = look

    todo: list[tuple[int, list[Place]]] = []
    for index, (unit, native) in enumerate(zip(every, natives)):
        if unit.trace in left_out:
            continue
        there = _read(results, native.key(looks[unit.trace].content), unit.trace)
        done = {(row["tier_bytes"], row["policy"]) for row in there}
        missing = [place for place in places if place not in done]
        rows[index] = there
        if missing:
            todo.append((index, missing))
    finished = len(rows) - len(todo)
    if progress:
        progress(finished, len(every))
    tasks = []
    for index, missing in todo:
        unit = every[index]
        look = looks[unit.trace]
        tasks.append((_simulate, (unit, sent.get(unit.trace), missing, look.size), look.memory))
    for number, cells, error in cluster.run(tasks):
        index, _ = todo[number]
        if error is not None:
            failed(every[index].trace, error)
            continue
        rows[index] += cells
        if results is not None:
            key = natives[index].key(looks[every[index].trace].content)
            _write(results, key, rows[index])
        finished += 1
        if progress:
            progress(finished, len(every))
    rows = {index: found for index, found in rows.items() if every[index].trace not in left_out}
    if every and not rows:
        raise RuntimeError(f"no trace could be simulated: {left_out}")
    for trace, error in left_out.items():
        warnings.warn(f"{trace} is left out: {error}", stacklevel=2)
    wanted = set(places)
    return _table(
        [
            row
            for found in rows.values()
            for row in found
            if (row["tier_bytes"], row["policy"]) in wanted
        ]
    )


# What workers do.


class Look(NamedTuple):
    """What a worker says about a trace."""

    content: str
    memory: int
    """What a unit needs, in bytes; 0 if nobody asked for it, as that takes another pass."""
    size: int
    """The size of the file, in bytes."""


def _look(unit: Unit, data: bytes | None, memory: bool) -> Look:
    with _local(unit.trace, data) as path:
        size = _size(path)
        native = _native_unit(path, unit)
        needed = _memory(*native.count()) if memory else 0
        return Look(native.content(), needed, size)


def _memory(events: int, pages: int) -> int:
    """For the process, and for each event and page. Measured sweeps took 36 to 78 % of it."""
    return (64 << 20) + 8 * events + 128 * pages


def _simulate(unit: Unit, data: bytes | None, places: list[Place], size: int) -> list[Row]:
    """The rows of a unit, as in the command's table. One thread: a worker has one for each unit."""
    with _local(unit.trace, data) as path:
        cells = json.loads(_native_unit(path, unit).run(places, 1))
        if _size(path) != size:
            # Its results would be kept for what was there before. Copies on other machines differ
            # in everything but their content.
            raise ValueError("it changed during the sweep")
    return [_row(cell) for cell in cells]


def _size(path: str) -> int:
    """The size of a file; 0 for a synthetic phone."""
    return 0 if path.startswith(SYNTHETIC) else os.stat(path).st_size


def _native_unit(path: str, unit: Unit) -> _native.Unit:
    grid = unit.grid
    return _native.Unit(
        unit.trace if unit.trace.startswith(SYNTHETIC) else path,
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
        try:
            for future in concurrent.futures.as_completed(futures):
                error = future.exception()
                yield futures[future], None if error else future.result(), error
        finally:
            for future in futures:
                future.cancel()


class _Dask:
    """A client of Dask."""

    def __init__(self, client: Any) -> None:
        self.client = client
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        memories = [worker["resources"].get("MEMORY", 0) for worker in workers]
        self.places_by_memory = bool(memories) and all(memories)
        self.largest = max(memories) if self.places_by_memory else math.inf

    def send(self, data: bytes) -> Any:
        return self.client.scatter(data, broadcast=False)

    def run(self, tasks: list[Task]) -> Iterator[Result]:
        from dask.distributed import as_completed

        futures = {}
        for index, (function, arguments, memory) in enumerate(tasks):
            resources = {"MEMORY": memory} if memory else None
            if memory > self.largest:
                needed = f"a unit needs {memory} bytes, and no worker has so much MEMORY"
                yield index, None, MemoryError(needed)
                continue
            # Pure functions of their content, which Dask does not see. Dask gives the work of dead
            # workers to others (distributed.scheduler.allowed-failures).
            future = self.client.submit(function, *arguments, pure=False, resources=resources)
            futures[future.key] = (index, future)
        try:
            for future in as_completed([future for _, future in futures.values()]):
                index, _ = futures.pop(future.key)
                error = future.exception()
                yield index, None if error else future.result(), error
        finally:
            self.client.cancel([future for _, future in futures.values()])


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
            remote = self.ray.remote(function).options(memory=memory or None)
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


def _row(cell: dict[str, Any]) -> Row:
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


def _write(results: Path, key: str, rows: list[Row]) -> None:
    """A file is there as a whole, or not at all."""
    import pyarrow.parquet as pq

    file, new = tempfile.mkstemp(prefix=f".{key}.", suffix=".new", dir=results)
    try:
        with os.fdopen(file, "wb") as out:
            pq.write_table(_table(rows), out, compression="zstd")
            out.flush()
            os.fsync(out.fileno())
        os.replace(new, results / f"{key}.parquet")
    except BaseException:
        os.unlink(new)
        raise


def _read(results: Path | None, key: str, trace: str) -> list[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = results / f"{key}.parquet" if results else None
    if path is None or not path.exists():
        return []
    try:
        rows = pq.read_table(path, schema=_schema()).to_pylist()
    except (OSError, pa.ArrowException) as error:
        warnings.warn(f"{path} cannot be read and is computed anew: {error}", stacklevel=3)
        return []
    # A trace may have moved.
    return [{**row, "trace": trace} for row in rows]


def _content(trace: str) -> bytes | None:
    """The content of a local file."""
    if trace.startswith(SYNTHETIC) or "://" in trace:
        return None
    return Path(trace).read_bytes()


def _tiers(grid: Grid) -> list[int]:
    sizes = _sizes("tiers", grid.tiers)
    if not sizes:
        raise ValueError("tiers has no size")
    return sizes


def _sizes(what: str, sizes: Sequence[Size]) -> list[int]:
    if isinstance(sizes, str):
        raise TypeError(f'{what} is a sequence of sizes, such as ["64MiB"]')
    return sorted({_bytes(size) for size in sizes})


def _policies(grid: Grid) -> list[str]:
    if isinstance(grid.policies, str):
        raise TypeError('policies is a sequence of names, such as ["paper"]')
    every = [policies() if typed == "all" else [typed] for typed in grid.policies]
    return list(dict.fromkeys(_native.tier_policy(name) for names in every for name in names))


def _bytes(size: Size) -> int:
    if isinstance(size, str):
        parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", size)
        unit = _UNITS.get(parts[2].upper()) if parts else None
        if parts is None or unit is None:
            raise ValueError(f"{size!r} is not a size such as 64MiB")
        return round(float(parts[1]) * unit)
    number = operator.index(size)
    if number < 0:
        raise ValueError(f"{size!r} is not a size: it is negative")
    return number


def _is_of_workers(error: BaseException) -> bool:
    """Whether it says nothing about a trace: its worker died, or it was cancelled."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & {"BrokenExecutor", "CancelledError", "KilledWorker", "WorkerCrashedError"})
