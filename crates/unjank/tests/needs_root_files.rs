//! Files that root writes into a directory of another user, who plants links and pipes
//! there.
//!
//! Needs root. Fails without it when `UNJANK_TEST_ALL=1`, otherwise says that it
//! was skipped.

#![expect(clippy::unwrap_used, reason = "what a test does to set itself up may panic")]

mod boosted;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use boosted::{NOBODY, Phone, unjank, until};
use tempfile::TempDir;

/// A file of another tool, which is imported quickly.
const FINDINGS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../jitter/fixtures/cyclictest-ns.json");

/// A directory that belongs to nobody, and a file of root.
struct Places {
    dir: TempDir,
}

impl Places {
    fn new() -> Self {
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        fs::write(dir.path().join("secret"), "of root").unwrap();
        fs::create_dir(dir.path().join("theirs")).unwrap();
        chown(dir.path().join("theirs"), Some(NOBODY), Some(NOBODY)).unwrap();
        Self { dir }
    }

    fn secret(&self) -> PathBuf {
        self.dir.path().join("secret")
    }

    fn theirs(&self, name: &str) -> PathBuf {
        self.dir.path().join("theirs").join(name)
    }

    /// A link to root's file, which belongs to nobody.
    fn plant_link(&self, name: &str) {
        symlink(self.secret(), self.theirs(name)).unwrap();
        lchown(self.theirs(name), Some(NOBODY), Some(NOBODY)).unwrap();
    }

    fn plant_pipe(&self, name: &str) {
        let made = Command::new("mkfifo").arg(self.theirs(name)).status().unwrap();
        assert!(made.success());
        chown(self.theirs(name), Some(NOBODY), Some(NOBODY)).unwrap();
    }

    fn check_secret(&self) {
        assert_eq!(fs::read_to_string(self.secret()).unwrap(), "of root");
        assert_eq!(self.secret().metadata().unwrap().uid(), 0);
    }

    /// Files in nobody's directory with the prefix of unjank's temporary files.
    fn leftovers(&self) -> Vec<String> {
        let all = fs::read_dir(self.theirs("")).unwrap();
        let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(".unjank-")).collect()
    }
}

fn run(arguments: &[&str], last: &Path) -> Output {
    Command::new(unjank()).args(arguments).arg(last).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Commands that write a file within a second, without the file's name.
const WRITERS: [&[&str]; 4] = [
    &["swap", "mrc", "--no-store", "TRACE", "--csv"],
    &["swap", "mrc", "--no-store", "TRACE", "--html"],
    &["swap", "mrc", "--no-store", "TRACE", "--markdown"],
    &["swap", "synth", "games", "--count", "2", "--force"],
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

/// Recordings of the kernel, with the words behind the file's name.
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

/// Runs unjank as sudo does with HOME kept. The machine's own places are in a private
/// namespace; what is in them is printed, after the line "in /var".
fn with_home(home: &Path, var_mode: &str, arguments: &[&str]) -> Output {
    let script = "for dir in lib cache; do mount -t tmpfs -o mode=\"$0\" none /var/$dir; done
                  PATH=/nonexistent \"$@\"; code=$?
                  echo in /var; find /var/lib/unjank /var/cache/unjank; exit $code";
    Command::new("unshare")
        .args(["--mount", "sh", "-c", script, var_mode, unjank()])
        .args(arguments)
        .env("HOME", home)
        .env("SUDO_UID", NOBODY.to_string())
        .env_remove("XDG_DATA_HOME")
        .env_remove("XDG_CACHE_HOME")
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A home directory of nobody.
fn home_of_nobody(places: &Places) -> PathBuf {
    let home = places.theirs("home");
    fs::create_dir(&home).unwrap();
    chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
    home
}

/// Arguments with which `lab run` creates its files and then lacks an emulator.
fn phone_without_emulator(places: &Places) -> [String; 9] {
    // The header of a program without segments, which looks statically linked.
    let mut program = vec![0; 64];
    program[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    program[18] = 62;
    program[54] = 56;
    let (guest, kernel) = (places.dir.path().join("guest"), places.dir.path().join("vmlinuz"));
    fs::write(&guest, program).unwrap();
    fs::write(&kernel, "").unwrap();
    let (guest, kernel) = (guest.display().to_string(), kernel.display().to_string());
    let words = ["lab", "run", "--no-store", "--accel=tcg", "--guest", &guest, "--kernel", &kernel];
    let mut words = words.map(str::to_owned).to_vec();
    words.push("--".to_owned());
    words.try_into().unwrap()
}

#[test]
fn root_creates_nothing_in_the_callers_home() {
    if !unjank_needs::root() {
        return;
    }
    let places = Places::new();
    let home = home_of_nobody(&places);
    let output = with_home(&home, "755", &["jitter", "native", "--for", "200ms"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(fs::read_dir(&home).unwrap().count(), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("/var/lib/unjank/runs.sqlite"), "{}", stderr(&output));
}

#[test]
fn directories_of_root_in_the_callers_home_are_not_used() {
    if !unjank_needs::root() {
        return;
    }
    let places = Places::new();
    let home = home_of_nobody(&places);
    let (cache, data) = (home.join(".cache"), home.join(".local/share"));
    for made in [&cache, &data] {
        fs::create_dir_all(made).unwrap();
    }
    let output = with_home(&home, "755", &["jitter", "native", "--for", "200ms"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("/var/lib/unjank/runs.sqlite"), "{}", stderr(&output));
    let words = phone_without_emulator(&places);
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["unjank", "host"]).collect();
    let output = with_home(&home, "755", &words);
    assert!(stderr(&output).contains("qemu"), "{}", stderr(&output));
    assert!(stdout(&output).contains("/var/cache/unjank/lab/boots.lock"), "{}", stdout(&output));
    for made in [&cache, &data] {
        assert_eq!(fs::read_dir(made).unwrap().count(), 0, "{}", made.display());
    }
}

#[test]
fn a_link_to_a_sticky_directory_does_not_lead_root_to_planted_locks() {
    if !unjank_needs::root() {
        return;
    }
    let places = Places::new();
    let home = home_of_nobody(&places);
    // As /tmp, in which anyone can create directories.
    let shared = places.dir.path().join("shared");
    let lab = shared.join("unjank/lab");
    fs::create_dir_all(&lab).unwrap();
    fs::set_permissions(&shared, PermissionsExt::from_mode(0o1777)).unwrap();
    for dir in [shared.join("unjank"), lab.clone()] {
        chown(dir, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    symlink(&shared, home.join(".cache")).unwrap();
    lchown(home.join(".cache"), Some(NOBODY), Some(NOBODY)).unwrap();
    for lock in ["boots.lock", "lock"] {
        symlink(places.secret(), lab.join(lock)).unwrap();
        lchown(lab.join(lock), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let words = phone_without_emulator(&places);
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["unjank", "host"]).collect();
    let output = with_home(&home, "755", &words);
    assert!(stderr(&output).contains("qemu"), "{}", stderr(&output));
    places.check_secret();
    let fetched = with_home(&home, "755", &["lab", "fetch", "--mirror", "http://no.invalid"]);
    assert!(!fetched.status.success());
    places.check_secret();
    assert!(stdout(&fetched).contains("/var/cache/unjank/lab/lock"), "{}", stdout(&fetched));
    assert_eq!(fs::read_dir(&lab).unwrap().count(), 2);
}

#[test]
fn a_default_store_that_others_can_replace_is_refused_before_measuring() {
    if !unjank_needs::root() {
        return;
    }
    let places = Places::new();
    let home = home_of_nobody(&places);
    let arguments = ["jitter", "native", "--for", "200ms"];
    let output = with_home(&home, "1777", &arguments);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("--no-store"), "{}", stderr(&output));
    assert_eq!(stdout(&output), "in /var\n", "nothing was measured");
    let output = with_home(&home, "1777", &[&arguments[..], &["--no-store"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// As su(1) leaves it to root.
#[test]
fn root_creates_nothing_in_the_temporary_directory_of_another_user() {
    if !unjank_needs::root() {
        return;
    }
    let places = Places::new();
    let theirs = places.theirs("");
    let changed = || fs::metadata(&theirs).unwrap().ctime_nsec();
    let before = changed();
    let with = |temporary: &Path, arguments: &[&str]| {
        let mut command = Command::new(unjank());
        command.args(arguments).env("TMPDIR", temporary).output().unwrap()
    };
    let sweep = ["swap", "sweep", "--preset", "games", "--tier", "64MiB", "--policy", "lru"];
    let swept = with(&theirs, &[&sweep[..], &["--no-store"]].concat());
    assert_eq!(swept.status.code(), Some(0), "{}", stderr(&swept));
    let program = places.dir.path().join("program");
    fs::write(
        &program,
        "#!/usr/bin/env python3\nimport os, socket, sys\n\
         open(sys.argv[1], 'w').write(os.environ['NOTIFY_SOCKET'])\n\
         s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n\
         s.sendto(b'READY=1', os.environ['NOTIFY_SOCKET'])\n",
    )
    .unwrap();
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let told = places.dir.path().join("told");
    let bench = ["launch", "bench", "--no-store", "-n", "1", "--warm-up", "0", "--ready=notify"];
    let words = [program.to_str().unwrap(), told.to_str().unwrap()];
    let notified = |temporary: &Path| {
        let launched = with(temporary, &[&bench[..], &["--"], &words[..]].concat());
        assert_eq!(launched.status.code(), Some(0), "{}", stderr(&launched));
        PathBuf::from(fs::read_to_string(&told).unwrap())
    };
    assert!(!notified(&theirs).starts_with(&theirs));
    assert_eq!(changed(), before, "nothing was created there");
    // A directory that only root can write to, and one as /tmp is, are used.
    for (name, mode) in [("own", 0o700), ("sticky", 0o1777)] {
        let own = places.dir.path().join(name);
        fs::create_dir(&own).unwrap();
        fs::set_permissions(&own, PermissionsExt::from_mode(mode)).unwrap();
        assert!(notified(&own).starts_with(&own), "{name}");
    }
}
