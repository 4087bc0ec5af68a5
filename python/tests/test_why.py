"""Explained launches as tables."""

import subprocess
from pathlib import Path

import pytest
from unjank import runs, why

RECORDING = Path(__file__).parents[2] / "crates/host/fixtures/trace-file/launch.v7.dat"


@pytest.fixture(scope="module")
def record(tmp_path_factory, unjank):
    file = tmp_path_factory.mktemp("why") / "why.json"
    command = [unjank, "why", RECORDING, "--process", "sleep", "--no-store", "--json"]
    file.write_bytes(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return runs.read(file)


def test_the_causes_sum_to_the_whole(record):
    split = why.split(record)
    [all_ways] = [index for index, way in enumerate(split["way"]) if way == "all"]
    causes = [split[cause][all_ways] for cause in split if cause not in ("way", "sum")]
    assert sum(causes) == split["sum"][all_ways] == whole(record)


def test_the_path_is_in_the_order_of_time(record):
    path = why.path(record)
    assert len({len(column) for column in path.values()}) == 1
    assert sum(path["time"]) == whole(record)
    assert path["from"] == sorted(path["from"])


def test_remedies_have_predictions(record):
    assert "saved" in why.what_if(record) and "ended by" in why.waits(record)


def test_other_runs_are_refused():
    with pytest.raises(LookupError, match="why/split"):
        why.split({"tables": []})


def whole(record):
    facts = runs.facts(record)
    return facts["value"][facts["name"].index("why/total")]
