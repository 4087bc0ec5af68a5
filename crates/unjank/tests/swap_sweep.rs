//! Units of `unjank swap sweep`: shared between processes, moved, and cut into shares.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use parquet::file::reader::{FileReader as _, SerializedFileReader};

/// A sweep of three synthetic phones, three sizes of memory each: nine units.
fn sweep() -> Command {
    let mut command = Command::new(unjank_needs::unjank!());
    command.args(["swap", "sweep", "--no-store", "--preset", "games,favourites,background"]);
    command.args(["--memory", "300MiB..700MiB/3", "--tier", "16MiB,64MiB"]);
    command.args(["--policy", "paper,always/lru,refault"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn finish(child: Child) {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn rows(table: &Path) -> Vec<String> {
    let reader = SerializedFileReader::new(fs::File::open(table).unwrap()).unwrap();
    reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
}

/// The lines of cells in all files of a directory.
fn lines(units: &Path) -> usize {
    let Ok(files) = fs::read_dir(units) else { return 0 };
    let cells = |file: PathBuf| {
        fs::read_to_string(file).map_or(0, |text| text.matches("\"unit\":").count())
    };
    files.map(|file| cells(file.unwrap().path())).sum()
}

#[test]
fn processes_share_a_sweep_and_the_work_of_killed_ones_is_taken_over() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let whole = sweep().arg("--out").arg(at("whole.parquet")).spawn().unwrap();
    finish(whole);
    let units = at("units");
    let join =
        |out: &str| sweep().arg("--claim").arg(&units).arg("--out").arg(at(out)).spawn().unwrap();
    for _ in 0..2 {
        let before = lines(&units);
        let mut killed = join("killed.parquet");
        while lines(&units) < before + 2 && killed.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        killed.kill().unwrap();
        killed.wait().unwrap();
    }
    let workers: Vec<Child> = (0..3).map(|number| join(&format!("{number}.parquet"))).collect();
    workers.into_iter().for_each(finish);
    // Each cell was computed once.
    assert_eq!(lines(&units), 9 * 6);
    for number in 0..3 {
        let same = fs::read(at(&format!("{number}.parquet"))).unwrap();
        assert!(same == fs::read(at("whole.parquet")).unwrap());
    }
    // A larger sweep uses what is there, also in another place.
    fs::rename(&units, at("moved")).unwrap();
    let more = sweep().args(["--tier", "32MiB", "--claim"]).arg(at("moved")).spawn().unwrap();
    finish(more);
    assert_eq!(lines(&at("moved")), 9 * 9);
}

#[test]
fn shares_add_up_to_the_whole() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    finish(sweep().arg("--out").arg(at("whole.parquet")).spawn().unwrap());
    let mut parts = Vec::new();
    for part in 1..=3 {
        let out = at(&format!("{part}.parquet"));
        let share = format!("{part}/3");
        finish(sweep().args(["--shard", &share, "--out"]).arg(&out).spawn().unwrap());
        parts.extend(rows(&out));
    }
    let mut whole = rows(&at("whole.parquet"));
    parts.sort_unstable();
    whole.sort_unstable();
    assert_eq!(parts, whole);
}

#[test]
fn a_trace_that_moves_keeps_its_units() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let text = "time_ns,page,operation\n0,1,page-in\n1,2,page-out\n2,2,page-in\n";
    fs::write(at("a.csv"), text).unwrap();
    let run = |trace: &str, out: &str| {
        let mut command = Command::new(unjank_needs::unjank!());
        command.args(["swap", "sweep", "--no-store", "--tier", "64KiB", "--policy", "paper"]);
        command.arg(at(trace)).arg("--claim").arg(at("units")).arg("--out").arg(at(out));
        finish(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    };
    run("a.csv", "a.parquet");
    fs::rename(at("a.csv"), at("b.csv")).unwrap();
    run("b.csv", "b.parquet");
    assert_eq!(lines(&at("units")), 1);
    let [before, after] = ["a.parquet", "b.parquet"].map(|out| rows(&at(out)).remove(0));
    assert!(before.contains("a.csv") && after.contains("b.csv"));
    assert_eq!(before.replace("a.csv", "b.csv"), after);
    // Other content is another unit.
    fs::write(at("b.csv"), text.replace("2,2", "2,3")).unwrap();
    run("b.csv", "c.parquet");
    assert_eq!(lines(&at("units")), 2);
}

#[test]
fn results_are_added_up_over_traces_and_many_traces_have_means_only() {
    let directory = tempfile::tempdir().unwrap();
    let text = "time_ns,page,operation\n0,1,page-in\n1,2,page-out\n2,2,page-in\n";
    let traces: Vec<PathBuf> =
        (0..70).map(|number| directory.path().join(format!("{number}.csv"))).collect();
    for (number, path) in traces.iter().enumerate() {
        fs::write(path, format!("{text}{},1,page-in\n", number + 3)).unwrap();
    }
    let printed = |traces: &[PathBuf]| {
        let mut command = Command::new(unjank_needs::unjank!());
        command.args(["swap", "sweep", "--no-store", "--tier", "64KiB", "--policy", "paper"]);
        let output = command.args(traces).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let (few, many) = (printed(&traces[..2]), printed(&traces));
    assert!(few.contains("mean over traces") && few.contains("1.csv: storage I/O"), "{few}");
    assert!(many.contains("means over up to 70 traces") && many.contains("--out writes"), "{many}");
    assert!(!many.contains("1.csv: storage I/O") && many.lines().count() < 60, "{many}");
}
