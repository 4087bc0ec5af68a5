//! Files that root writes into a directory of another user, who plants links and pipes
//! there.
//!
//! Needs root. Fails without it when `UNJANK_TEST_ALL=1`, otherwise says that it
//! was skipped.

mod boosted;
mod places;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{lchown, symlink};
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;

use boosted::{NOBODY, Phone, unjank, until};
use places::{Places, run};
use unjank_needs::printed::stderr;

/// A file of another tool, which is imported quickly.
const FINDINGS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../jitter/fixtures/cyclictest-ns.json");

/// Commands that write a file within a second, without the file's name.
const WRITERS: [&[&str]; 4] = [
    &["swap", "mrc", "--no-store", "TRACE", "--csv"],
    &["swap", "mrc", "--no-store", "TRACE", "--html"],
    &["swap", "mrc", "--no-store", "TRACE", "--markdown"],
    &["swap", "synth", "games", "--count", "2", "--replace"],
];

#[test]
fn links_of_others_are_replaced_and_never_followed() {
    if !unjank_needs::root() {
        return;
    }
    let places = Places::new();
    let trace = places.dir.path().join("trace.csv");
    let made = run(&["swap", "synth", "games", "--count", "2"], &trace);
    assert!(made.status.success(), "{}", stderr(&made));
    for (number, writer) in WRITERS.into_iter().enumerate() {
        let name = format!("{number}.csv");
        places.plant_link(&name);
        let trace = trace.to_str().unwrap();
        let words: Vec<&str> =
            writer.iter().map(|&word| if word == "TRACE" { trace } else { word }).collect();
        let output = run(&words, &places.theirs(&name));
        assert_eq!(output.status.code(), Some(0), "{writer:?}: {}", stderr(&output));
        places.check_secret();
        let written = places.theirs(&name).symlink_metadata().unwrap();
        assert!(written.is_file() && written.len() > 0, "{writer:?}");
        // A pipe without a reader is refused without a wait.
        let pipe = format!("{number}.pipe.csv");
        places.plant_pipe(&pipe);
        let output = run(&words, &places.theirs(&pipe));
        assert_eq!(output.status.code(), Some(2), "{writer:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("it is not a regular file"), "{}", stderr(&output));
    }
    assert_eq!(places.leftovers(), Vec::<String>::new());
}

/// Commands that record the kernel: the words before and after the file's name.
const RECORDERS: [(&[&str], &[&str]); 4] = [
    (&["why", "--no-store", "--perfetto"], &["--", "true"]),
    (&["why", "--no-store", "--folded"], &["--", "true"]),
    (&["why", "--no-store", "--trace-file"], &["--", "true"]),
    (
        &[
            "jitter",
            "native",
            "--no-store",
            "--sched",
            "other",
            "--for",
            "2s",
            "--break-above",
            "1us",
            "--trace-file",
        ],
        &[],
    ),
];

#[test]
fn recordings_replace_links_of_others_and_refuse_their_pipes() {
    if !unjank_needs::root() {
        return;
    }
    let places = Places::new();
    for (number, (before, after)) in RECORDERS.into_iter().enumerate() {
        let record = |file: &Path| {
            let mut command = Command::new(unjank());
            command.args(before).arg(file).args(after).output().unwrap()
        };
        let (link, pipe) = (format!("{number}.link"), format!("{number}.pipe"));
        places.plant_link(&link);
        places.plant_pipe(&pipe);
        let output = record(&places.theirs(&link));
        assert!(matches!(output.status.code(), Some(0 | 1)), "{before:?}: {}", stderr(&output));
        places.check_secret();
        let written = places.theirs(&link).symlink_metadata().unwrap();
        assert!(written.is_file() && written.len() > 0, "{before:?}: {}", stderr(&output));
        let output = record(&places.theirs(&pipe));
        assert_eq!(output.status.code(), Some(2), "{before:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("it is not a regular file"), "{}", stderr(&output));
    }
    assert_eq!(places.leftovers(), Vec::<String>::new());
}

#[test]
fn links_do_not_lead_root_to_another_directory() {
    if !unjank_needs::root() {
        return;
    }
    let places = Places::new();
    let roots = places.dir.path().join("roots");
    fs::create_dir(&roots).unwrap();
    symlink(&roots, places.theirs("link")).unwrap();
    lchown(places.theirs("link"), Some(NOBODY), Some(NOBODY)).unwrap();
    let output = run(
        &["jitter", "import", FINDINGS, "--no-store", "--html"],
        &places.theirs("link/page.html"),
    );
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("link (a link: it belongs to user 65534"));
    let output = run(&["host", "--record"], &places.theirs("link/machine"));
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert_eq!(fs::read_dir(&roots).unwrap().count(), 0);
}

#[test]
fn links_do_not_lead_root_to_make_directories_elsewhere() {
    if !unjank_needs::root() {
        return;
    }
    let places = Places::new();
    let roots = places.dir.path().join("roots");
    fs::create_dir(&roots).unwrap();
    symlink(&roots, places.theirs("link")).unwrap();
    lchown(places.theirs("link"), Some(NOBODY), Some(NOBODY)).unwrap();
    let record = places.dir.path().join("record.json");
    fs::write(&record, imported()).unwrap();
    let show = ["runs", "show", record.to_str().unwrap(), "--figures"];
    for command in [&show[..], &["man"]] {
        let output = run(command, &places.theirs("link/new"));
        assert_eq!(output.status.code(), Some(4), "{command:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("link (a link: it belongs to user 65534"));
        assert_eq!(fs::read_dir(&roots).unwrap().count(), 0, "{command:?}");
    }
}

/// A record as JSON.
fn imported() -> String {
    let output = run(&["jitter", "import", "--no-store", "--json"], Path::new(FINDINGS));
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn links_beside_a_store_of_incidents_do_not_lead_to_roots_recordings() {
    if !unjank_needs::root() {
        return;
    }
    let places = Places::new();
    let record = places.dir.path().join("record.json");
    let mut incident: serde_json::Value = serde_json::from_str(&imported()).unwrap();
    incident["command"] = "watch".into();
    fs::write(&record, incident.to_string()).unwrap();
    let roots = places.dir.path().join("watch.sqlite");
    let made = run(&["runs", "import", record.to_str().unwrap(), "--store"], &roots);
    assert!(made.status.success(), "{}", stderr(&made));
    let store = places.theirs("watch.sqlite");
    fs::copy(&roots, &store).unwrap();
    // A trace of one packet.
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&[0x0a, 1, 0]).unwrap();
    fs::write(places.secret(), packed.finish().unwrap()).unwrap();
    fs::create_dir(places.theirs("watch.sqlite.incidents")).unwrap();
    let recording =
        format!("watch.sqlite.incidents/{}.pftrace.gz", incident["id"].as_str().unwrap());
    let out = places.dir.path().join("out.pftrace");
    let commands: [&[&str]; 2] = [
        &["incidents", "perfetto", "last", out.to_str().unwrap(), "--store"],
        &["why", "--no-store", "--last", "--incident-store"],
    ];
    for plant in [Places::plant_link, Places::plant_pipe] {
        plant(&places, &recording);
        for command in commands {
            let output = run(command, &store);
            assert_eq!(output.status.code(), Some(2), "{command:?}: {}", stderr(&output));
            assert!(stderr(&output).contains("is not a regular file"), "{}", stderr(&output));
            assert!(!out.exists());
        }
        fs::remove_file(places.theirs(&recording)).unwrap();
    }
    fs::copy(places.secret(), places.theirs(&recording)).unwrap();
    let output = run(commands[0], &store);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(fs::read(&out).unwrap(), [0x0a, 1, 0]);
}

#[test]
fn links_do_not_lead_roots_scratch_files_to_another_disk() {
    if !unjank_needs::root() {
        return;
    }
    let places = Places::new();
    symlink("/var/tmp", places.theirs("link")).unwrap();
    lchown(places.theirs("link"), Some(NOBODY), Some(NOBODY)).unwrap();
    let probe = ["swap", "probe", "--no-store", "--quick", "--starts", "1", "--pages", "file"];
    let probe = [&probe[..], &["--directory"]].concat();
    let trace = places.dir.path().join("trace.parquet");
    let record = ["swap", "record", "--no-store", "--for", "100ms", "--swap-size", "1MiB"];
    let record = [&record[..], &["--out", trace.to_str().unwrap(), "--directory"]].concat();
    for command in [probe, record] {
        let output = run(&command, &places.theirs("link"));
        assert_eq!(output.status.code(), Some(4), "{command:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("link (a link: it belongs to user 65534"));
    }
}

#[test]
fn a_sweep_resumes_no_file_of_others() {
    if !unjank_needs::root() {
        return;
    }
    let places = Places::new();
    places.plant_link("cells.parquet.partial");
    let sweep = ["swap", "sweep", "--preset", "games", "--tier", "64MiB", "--policy", "lru"];
    let sweep: Vec<&str> = sweep.into_iter().chain(["--no-store", "--out"]).collect();
    let output = run(&sweep, &places.theirs("cells.parquet"));
    assert!(!output.status.success());
    places.check_secret();
}

#[test]
fn the_service_writes_its_metrics_beside_links_and_pipes() {
    if !unjank_needs::root() || !boosted::sees_starts() {
        return;
    }
    let places = Places::new();
    places.plant_link("unjank.prom");
    places.plant_link("unjank.prom.new");
    places.plant_pipe("unjank.prom.new2");
    let phone = Phone::new();
    let metrics = places.theirs("unjank.prom");
    let service = phone.boost(&["--metrics-file", metrics.to_str().unwrap()]);
    until("metrics are written", || metrics.symlink_metadata().is_ok_and(|file| file.is_file()));
    places.check_secret();
    assert!(fs::read_to_string(&metrics).unwrap().contains("unjank_boost"));
    drop(service);
    assert_eq!(places.leftovers(), Vec::<String>::new());
    // A pipe is refused before anything is changed.
    let pipe = places.theirs("unjank.prom.new2");
    let output =
        phone.command(&["--metrics-file", pipe.to_str().unwrap(), "--for", "1s"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("it is not a regular file"), "{}", stderr(&output));
}

#[test]
fn a_full_disk_leaves_the_former_file() {
    if !unjank_needs::root() {
        return;
    }
    let places = Places::new();
    let disk = places.dir.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let page = disk.join("page.html");
    // A file system of 8 KiB that ends with its shell.
    let script = "mount -t tmpfs -o size=8k none \"$1\" && echo before > \"$2\" && \
                  { \"$3\" jitter import \"$4\" --no-store --html \"$2\" >&2; echo \"code $?\"; cat \"$2\"; ls -A \"$1\"; }";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh"])
        .args([disk.as_os_str(), page.as_os_str(), unjank().as_ref(), FINDINGS.as_ref()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said, "code 1\nbefore\npage.html\n", "{}", stderr(&output));
    assert!(stderr(&output).contains("No space left on device"), "{}", stderr(&output));
}
