"""Traces as Arrow tables and as requests."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
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
    assert table.column("time_ns").to_pylist() == [0, 100_000_000, 200_000_000]


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


def test_a_table_can_be_opened_again_and_names_are_distinct(tmp_path):
    source = tmp_path / "two.csv"
    source.write_text(
        "time_ns,process,pid,page,operation\n0,sh,1,7,read\n5,sh,2,3,write\n9,vi,3,7,read\n"
    )
    table = pa.table(traces.open(source))
    assert table.to_pandas()["process"].tolist() == ["sh", "sh", "vi"]
    assert table.column("pid").to_pylist() == [1, 2, 3]
    pq.write_table(table, tmp_path / "again.parquet")
    again = traces.open(tmp_path / "again.parquet")
    assert again.formats == ["parquet"]
    assert pa.table(again).column("page").to_pylist() == [7, 3, 7]


def test_guesses_and_skipped_lines_are_said(tmp_path):
    lines = tmp_path / "lines.csv"
    lines.write_text(LINES + "0.3,many,read\n")
    requests = traces.open(lines, format="csv", skip_bad=True).requests()
    assert len(requests) == 3 and sum(requests.skipped.values()) == 1
    msr = tmp_path / "msr.csv"
    rows = [f"12816637200306162{at},hm,1,Read,{at * 4096},4096,57" for at in range(9)]
    msr.write_text("\n".join(rows) + "\n")
    with pytest.warns(UserWarning, match="msr, which is a guess"):
        traces.open(msr)


def test_broken_and_long_traces(tmp_path):
    long = tmp_path / "long.csv"
    long.write_text("page\n" + "".join(f"{at % 997}\n" for at in range(200_000)))
    assert pa.table(traces.open(long)).num_rows == 200_000
    packed = gzip.compress(long.read_bytes())
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(OSError):
        traces.open(cut).requests()
    with pytest.raises(ValueError, match="none of 200000 requests is in the sample"):
        traces.open(long).requests(sample=1e-9)
    long.unlink()
    with pytest.raises(FileNotFoundError):
        traces.open(long)
