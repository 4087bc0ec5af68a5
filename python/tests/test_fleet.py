"""Fleets of devices: exported by the command, and made up."""

import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from unjank import fleet, runs

KERNELS = ["6.12.1", "6.18.44"]


def bucket(values):
    """The upper ends of the buckets of values, as the command has them."""
    values = np.asarray(values, dtype=np.uint64)
    bits = np.zeros(len(values), dtype=np.int64)
    nonzero = values > 0
    bits[nonzero] = np.floor(np.log2(values[nonzero].astype(float))).astype(np.int64) + 1
    low = np.maximum(bits - 7, 0).astype(np.uint64)
    return values | ((np.uint64(1) << low) - np.uint64(1))


def make_fleet(place, devices, runs_each, samples, seed=1, slower=1.0):
    """Devices of two models. With the second kernel, "pixel" has longer wake-ups."""
    random = np.random.default_rng(seed)
    for device in range(devices):
        model = ["pixel", "panel"][device % 2]
        speed = random.uniform(0.8, 1.25)
        for kernel in KERNELS:
            columns = {name: [] for name in ["run", "at", "count"]}
            for number in range(runs_each):
                factor = slower if (kernel, model) == (KERNELS[1], "pixel") else 1.0
                values = random.gamma(4, 10_000, samples) * speed * factor
                at, count = np.unique(bucket(values.astype(np.uint64)), return_counts=True)
                columns["run"].append(np.full(len(at), f"{device}/{kernel}/{number}"))
                columns["at"].append(at)
                columns["count"].append(count.astype(np.uint64))
            table = pa.table({name: np.concatenate(parts) for name, parts in columns.items()})
            rows = table.num_rows
            for name, value in [
                ("started_at", "2026-11-29T00:00:00Z"), ("device", f"d{device}"), ("model", model),
                ("kernel", kernel), ("architecture", "aarch64"), ("tool", "0.1.0"),
                ("name", "jitter/native/fifo/wakeup"), ("labels", ""), ("unit", "ns"),
            ]:
                table = table.append_column(name, pa.array([value]).take(pa.array(np.zeros(rows, dtype=np.int64))))
            file = place / "buckets" / "command=jitter-native" / f"date={kernel}" / f"d{device}.parquet"
            file.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, file)


def test_the_export_of_the_command_has_the_samples_of_its_records(tmp_path, unjank):
    store, place = tmp_path / "runs.sqlite", tmp_path / "fleet"
    for _ in range(2):
        command = [unjank, "ipc", "latency", "--count", "100", "--store", store]
        subprocess.run(command, check=True, capture_output=True)
    export = [unjank, "runs", "export", "--store", store, "--parquet", place, "--device-name", "lab/1"]
    subprocess.run(export, check=True, capture_output=True)
    # Again, and under another name: each run counts once.
    subprocess.run(export, check=True, capture_output=True)
    subprocess.run([*export[:-1], "lab-2"], check=True, capture_output=True)
    assert {file.name for file in place.rglob("*.parquet")} == {"lab-1.parquet", "lab-2.parquet"}
    buckets = fleet.read(place, command="ipc latency", by=["device"])
    table = fleet.quantiles(buckets).to_pylist()
    records = [runs.open(store).record(run) for run in ["last", "last~1"]]
    for row in table:
        series = [
            one
            for record in records
            for one in record["series"]
            if one["name"] == row["name"]
            and " ".join(f"{k}={v}" for k, v in sorted(one["labels"].items())) == row["labels"]
        ]
        assert row["n"] == sum(one["n"] for one in series)
        low, high = (pick(one["summary"]["p50"] for one in series) for pick in [min, max])
        assert low * 0.98 <= row["p50"] <= high * 1.02, row
    assert len(table) == len(records[0]["series"]) > 0
    facts = pq.read_table(place / "facts")
    assert facts.num_rows == 2 * sum(len(record["facts"]) for record in records)


def test_distributions_are_added_up_and_quantiles_never_averaged(tmp_path):
    make_fleet(tmp_path, 6, 2, 500)
    buckets = fleet.read(tmp_path)
    assert sum(buckets["count"].to_pylist()) == 6 * 2 * 2 * 500
    [whole] = fleet.quantiles(buckets, q=[0.5, 0.99, 0.9999]).to_pylist()
    samples = np.repeat(buckets["at"].to_numpy(), buckets["count"].to_numpy().astype(int))
    for q in [0.5, 0.99]:
        expected = np.sort(samples)[int(np.ceil(q * len(samples))) - 1]
        assert whole[f"p{q * 100:g}"] == expected
    assert whole["p99.99"] is None, "too few samples lie above it"
    models = fleet.quantiles(buckets, by=["model"]).to_pylist()
    assert [row["model"] for row in models] == ["panel", "pixel"]
    parts = fleet.read(tmp_path, by=["model", "kernel"])
    again = fleet.add_up([parts.slice(0, 100), parts.slice(100)])
    assert fleet.quantiles(again).to_pylist() == fleet.quantiles(buckets).to_pylist()


def test_a_regression_of_one_model_is_found_and_nothing_else(tmp_path):
    make_fleet(tmp_path, 24, 1, 400, slower=1.3)
    buckets = fleet.read(tmp_path)
    rows = fleet.regressions(buckets, between="kernel", before=KERNELS[0], after=KERNELS[1]).to_pylist()
    found = {row["model"]: row for row in rows}
    assert found["pixel"]["answer"] == "worse" and found["panel"]["answer"] != "worse"
    assert found["pixel"]["low"] < 0.3 < found["pixel"]["high"] + 0.1
    assert found["pixel"]["devices_before"] == 12
    back = fleet.regressions(buckets, between="kernel", before=KERNELS[1], after=KERNELS[0])
    assert {row["model"]: row["answer"] for row in back.to_pylist()}["pixel"] == "better"


def test_without_a_change_few_answers_are_wrong(tmp_path):
    wrong = 0
    for seed in range(16):
        place = tmp_path / str(seed)
        make_fleet(place, 12, 1, 200, seed=seed)
        buckets = fleet.read(place)
        rows = fleet.regressions(buckets, between="kernel", before=KERNELS[0], after=KERNELS[1])
        wrong += sum(row["answer"] in ("worse", "better") for row in rows.to_pylist())
    # Two groups each; with a rate of 5 %, more than 5 have a chance below 0.1 %.
    assert wrong < 6, wrong


def test_few_devices_cannot_tell(tmp_path):
    make_fleet(tmp_path, 4, 1, 400, slower=2.0)
    rows = fleet.regressions(
        fleet.read(tmp_path), between="kernel", before=KERNELS[0], after=KERNELS[1]
    ).to_pylist()
    assert {row["answer"] for row in rows} == {"cannot_tell"}
    assert all(row["change"] is not None and row["low"] is None for row in rows)


def test_wrong_arguments_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        fleet.read(tmp_path)
    make_fleet(tmp_path, 1, 1, 10)
    with pytest.raises(ValueError, match="unknown columns"):
        fleet.read(tmp_path, by=["vendor"])
    with pytest.raises(FileNotFoundError):
        fleet.read(tmp_path, command="lock probe")


def test_workers_of_dask_add_up_the_same(tmp_path):
    from dask.distributed import Client

    make_fleet(tmp_path, 8, 2, 100)
    by = ["model", "kernel"]
    order = [(key, "ascending") for key in [*by, "at"]]
    here = fleet.read(tmp_path, by=by).sort_by(order)
    with Client(processes=False, n_workers=2, dashboard_address=None) as client:
        there = fleet.read(tmp_path, by=by, client=client).sort_by(order)
    assert there.to_pylist() == here.to_pylist() and here.num_rows > 100
