"""Records of runs, made by the command itself."""

import json
import subprocess

import pytest
from unjank import runs


@pytest.fixture(scope="module")
def place(tmp_path_factory, unjank):
    """A store with two runs, and a file with the second record."""
    place = tmp_path_factory.mktemp("runs")
    trace = place / "trace.csv"
    trace.write_text("page\n" + "".join(f"{at * at % 97}\n" for at in range(2_000)))
    store = place / "runs.sqlite"
    for policy in ["lru", "lru,sieve"]:
        command = [unjank, "swap", "mrc", trace, "--policy", policy, "--sizes", "3", "--json"]
        with open(place / "record.json", "wb") as file:
            subprocess.run([*command, "--store", store], check=True, stdout=file)
    return place


def test_runs_are_listed_and_found(place):
    store = runs.open(place / "runs.sqlite")
    latest, first = store.list()
    assert latest["command"] == first["command"] == "swap mrc"
    assert [one["id"] for one in store.list("swap", limit=1)] == [latest["id"]]
    assert store.list("jitter") == []
    assert store.record(first["id"]) == store.record("last~1")
    assert store.record() == runs.read(place / "record.json")
    with pytest.raises(LookupError, match="no-such"):
        store.record("no-such")


def test_parts_of_a_record_are_columns(place):
    record = runs.read(place / "record.json")
    facts = runs.facts(record)
    assert {len(column) for column in facts.values()} == {len(record["facts"])}
    assert facts["value"][facts["name"].index("swap/mrc/requests")] == 2_000
    curves = runs.curves(record)
    assert set(curves["policy"]) == {"lru", "sieve"} and curves["low"][0] is None
    table = runs.table(record, record["tables"][-1]["name"])
    assert table["policy"] == ["lru", "sieve"]
    with pytest.raises(LookupError, match="no table 'why/split'"):
        runs.table(record, "why/split")


def test_runs_are_compared_as_by_the_command(place, unjank):
    store = place / "samples.sqlite"
    measure = [unjank, "ipc", "latency", "--count", "50", "--store", store]
    for _ in range(2):
        subprocess.run(measure, check=True, capture_output=True)
    record = runs.open(store).record()
    series = runs.series(record)
    assert len(series["unit"]) == len(record["series"]) > 0
    assert all(low <= high for low, high in zip(series["p50"], series["max"]))
    ours = runs.open(store).compare("last~1", "last", min_effect=0.01, seed=3)
    compare = [unjank, "runs", "compare", "last~1", "last", "--json", "--store", store]
    compare += ["--min-effect", "1%", "--seed", "3"]
    theirs = subprocess.run(compare, check=True, stdout=subprocess.PIPE)
    assert ours == json.loads(theirs.stdout) and ours["effects"]


def test_what_is_no_store_and_no_record_is_an_exception(tmp_path):
    with pytest.raises(FileNotFoundError):
        runs.open(tmp_path / "none.sqlite")
    file = tmp_path / "file"
    file.write_text("{}")
    with pytest.raises(OSError, match="file"):
        runs.open(file)
    with pytest.raises(ValueError, match="file"):
        runs.read(file)
