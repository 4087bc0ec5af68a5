"""Sweeps on executors, Dask and Ray, compared with the command."""

import concurrent.futures
import functools
import http.server
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pyarrow.parquet as pq
import pytest
from unjank import cluster

TRACES = ["synthetic: games", "synthetic: favourites"]
GRID = cluster.Grid(
    tiers=["16MiB", "64MiB"], policies=["paper", "always/lru", "refault"], memories=["300MiB", "600MiB"]
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory, unjank):
    """The table of the command, and the keys of its units."""
    place = tmp_path_factory.mktemp("sweep")
    command = [unjank, "swap", "sweep", "--preset", "games,favourites", "--tier", "16MiB,64MiB"]
    command += ["--policy", "paper,always/lru,refault", "--memory", "300MiB,600MiB", "--no-store"]
    command += ["--out", place / "sweep.parquet", "--claim", place / "units"]
    subprocess.run(command, check=True, capture_output=True)
    return pq.read_table(place / "sweep.parquet"), {file.stem for file in (place / "units").iterdir()}


@pytest.fixture
def processes():
    with concurrent.futures.ProcessPoolExecutor(2) as executor:
        yield executor


def test_results_and_keys_are_those_of_the_command(processes, whole, tmp_path):
    table, keys = whole
    ours = cluster.sweep(processes, TRACES, GRID, out=tmp_path)
    assert ours.equals(table.cast(ours.schema))
    assert {file.stem for file in tmp_path.iterdir()} == keys
    assert pq.read_table(tmp_path).num_rows == ours.num_rows


def test_finished_units_are_not_computed_again(whole, tmp_path):
    counted = Counting()
    small = cluster.Grid(tiers=GRID.tiers, policies=GRID.policies, memories=["300MiB"])
    cluster.sweep(counted, TRACES, small, out=tmp_path)
    assert counted.simulated == 2
    (tmp_path / ".key.1.new").write_bytes(b"of a killed sweep")
    damaged = next(tmp_path.glob("*.parquet"))
    whole_file = damaged.read_bytes()
    damaged.write_bytes(whole_file[:99])
    with pytest.warns(UserWarning, match="cannot be read and is computed anew"):
        cluster.sweep(counted, TRACES, small, out=tmp_path)
    assert damaged.read_bytes() == whole_file and counted.simulated == 3
    counted.simulated = 2
    finished = []
    ours = cluster.sweep(counted, TRACES, GRID, out=tmp_path, progress=lambda *at: finished.append(at))
    assert counted.simulated == 4 and finished == [(2, 4), (3, 4), (4, 4)]
    assert ours.equals(whole[0].cast(ours.schema))
    # More policies are added to what is there, which stays.
    more = cluster.Grid(tiers=GRID.tiers, policies=["gate=4/lru"], memories=GRID.memories)
    assert cluster.sweep(counted, TRACES, more, out=tmp_path).num_rows == 8
    assert pq.read_table(tmp_path).num_rows == 4 * (6 + 2)
    counted.simulated = 4
    # Fewer policies are a part of what is there.
    part = cluster.Grid(tiers=["64MiB"], policies=["paper"], memories=GRID.memories)
    assert cluster.sweep(counted, TRACES, part, out=tmp_path).num_rows == 4
    assert counted.simulated == 4


def test_traces_are_read_from_disks_and_servers_or_sent(processes, tmp_path):
    lines = "time_ns,page,operation\n0,1,page-in\n1,2,page-out\n2,2,page-in\n"
    (tmp_path / "trace.csv").write_text(lines)
    options = dict(tiers=[65_536], policies=["paper"], format="csv")
    path = str(tmp_path / "trace.csv")
    expected = cluster.sweep(processes, [path], **options).drop_columns(["trace"])
    sent = cluster.sweep(processes, [path], ship=True, **options)
    assert sent["trace"].to_pylist() == [path] and sent.drop_columns(["trace"]).equals(expected)
    with served(tmp_path) as address:
        remote = cluster.sweep(processes, [f"{address}/trace.csv"], **options)
    assert remote.drop_columns(["trace"]).equals(expected)


def test_copies_of_a_trace_are_the_same_and_a_changed_one_is_refused(tmp_path):
    lines = "time_ns,page,operation\n0,1,page-in\n1,2,page-out\n2,2,page-in\n"
    trace = tmp_path / "trace.csv"
    options = dict(tiers=[65_536], policies=["paper"], format="csv")

    class Between(Counting):
        """Changes the trace between the look at it and its simulation, as another machine may."""

        def submit(self, function, *arguments):
            if function.__name__ == "_simulate":
                trace.unlink()
                trace.write_text(lines + self.more)
            return super().submit(function, *arguments)

    for more, message in [("", None), ("3,1,page-in\n", "it changed during the sweep")]:
        trace.write_text(lines)
        client = Between()
        client.more = more
        if message is None:
            assert cluster.sweep(client, [trace], **options).num_rows == 1
        else:
            with pytest.raises(RuntimeError, match=message):
                cluster.sweep(client, [trace], **options)


def test_a_bad_trace_is_left_out(processes, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("time_ns,page,operation\n0,many,page-in\n")
    grid = cluster.Grid(tiers=[65_536], policies=["paper"])
    with pytest.warns(UserWarning, match="bad.csv is left out: .*no known format"):
        assert cluster.sweep(processes, ["synthetic: games", bad], grid).num_rows == 1
    with pytest.raises(RuntimeError, match="no trace could be simulated"):
        cluster.sweep(processes, [bad], grid)


def test_wrong_arguments_are_refused(processes):
    for wrong, error in [
        (dict(tiers=["64MB"]), "not a size"),
        (dict(tiers=[65_536], policies=["lurk"]), "unknown .* \"lurk\""),
    ]:
        with pytest.raises(ValueError, match=error):
            cluster.sweep(processes, TRACES, **wrong)
    for wrong in [dict(tiers=[1], policies="paper"), dict(tiers="64"), dict(grid=GRID, seed=2)]:
        with pytest.raises(TypeError, match="a sequence of|either grid or"):
            cluster.sweep(processes, TRACES, **wrong)
    with pytest.raises(TypeError, match="a sequence of paths"):
        cluster.sweep(processes, "trace.csv", GRID)
    with pytest.raises(ValueError, match="given twice"):
        cluster.sweep(processes, ["a", "a"], GRID)
    with pytest.raises(TypeError, match="expected a Dask client"):
        cluster.sweep(object(), TRACES, GRID)


def test_dask_survives_the_death_of_a_worker_and_two_of_the_sweep(whole, tmp_path):
    table, keys = whole
    with dask(tmp_path) as (scheduler, start_worker):
        out = tmp_path / "out"
        # Two sweeps are killed as soon as they have another unit.
        for units in [1, 2]:
            sweep = subprocess.Popen([sys.executable, "-c", SWEEP, scheduler, out])
            wait_until(lambda: sweep.poll() is not None or count(out) >= units)
            sweep.kill()
            sweep.wait()
        from dask.distributed import Client

        with Client(scheduler_file=scheduler) as client:
            victim = start_worker()
            client.wait_for_workers(3)
            die = functools.partial(os.kill, victim.pid, signal.SIGKILL)
            threading.Timer(0.5, die).start()
            ours = cluster.sweep(client, TRACES, GRID, out=out)
            victim.wait()
        assert ours.equals(table.cast(ours.schema))
        assert {file.stem for file in out.glob("*.parquet")} == keys
        assert pq.read_table(out).num_rows == table.num_rows


SWEEP = """
import sys
from dask.distributed import Client
from unjank import cluster
grid = cluster.Grid(tiers=["16MiB", "64MiB"], policies=["paper", "always/lru", "refault"],
                    memories=["300MiB", "600MiB"])
with Client(scheduler_file=sys.argv[1]) as client:
    cluster.sweep(client, ["synthetic: games", "synthetic: favourites"], grid, out=sys.argv[2])
"""


class Counting(concurrent.futures.Executor):
    """Runs everything at once, and counts simulations."""

    simulated = 0

    def submit(self, function, *arguments):
        self.simulated += function.__name__ == "_simulate"
        future = concurrent.futures.Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


class dask:
    """A scheduler and two workers, each a process of its own that listens on loopback only."""

    def __init__(self, place):
        self.place, self.scheduler, self.processes = place, place / "scheduler.json", []

    def run(self, *command):
        log = open(self.place / "dask.log", "ab")
        program = shutil.which("dask", path=os.path.dirname(sys.executable))
        command = [program, *command, "--scheduler-file", self.scheduler, "--host", "127.0.0.1"]
        process = subprocess.Popen(command, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def worker(self):
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", self.place]
        # More than each unit needs: the resource must be honoured, and may not block.
        return self.run("worker", *options, "--resources", "MEMORY=4e9")

    def __enter__(self):
        self.run("scheduler", "--port", "0", "--no-dashboard", "--no-jupyter")
        wait_until(self.scheduler.exists)
        for _ in range(2):
            self.worker()
        return str(self.scheduler), self.worker

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.kill()
            process.wait()


class served:
    """A directory as a server of HTTP on loopback."""

    def __init__(self, directory):
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=directory)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def count(out):
    return len(list(out.glob("*.parquet"))) if out.exists() else 0


def wait_until(happened):
    end = time.monotonic() + 300
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_death_of_workers_is_no_fault_of_the_traces():
    with concurrent.futures.ProcessPoolExecutor(1) as executor:
        executor.submit(os.getpid).result()
        [process] = executor._processes.values()
        threading.Timer(0.3, process.kill).start()
        with pytest.raises(RuntimeError, match="workers died"):
            cluster.sweep(executor, TRACES, GRID)
