"""Traces as Arrow tables and as requests."""

import pyarrow as pa
import pytest
from unjank import cache, traces

LINES = "time,page,operation\n0.0,7,read\n0.1,3,write\n0.2,7,read\n"


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "trace.csv"
    file.write_text(LINES)
    return file


def test_events_are_an_arrow_table(path):
    table = pa.table(traces.open(path))
    assert table.column("page").to_pylist() == [7, 3, 7]
    assert table.column("operation").to_pylist() == ["read", "write", "read"]
    assert table.column("at").to_pylist() == [0, 100_000_000, 200_000_000]


def test_requests_are_for_caches(path):
    requests = traces.open(path).requests()
    assert (len(requests), requests.footprint) == (3, 2)
    assert requests.miss_ratio("lru", 1) == 1
    assert len(traces.open(path).requests(operations=["write"])) == 1


def test_what_cannot_be_read_is_an_exception(tmp_path, path):
    with pytest.raises(OSError, match="no-such"):
        traces.open(tmp_path / "no-such.csv")
    with pytest.raises(ValueError):
        traces.open(path, format="cvs")
    assert "parquet" in traces.formats()
