//! Root with the home directory or the temporary directory of another user.
//!
//! Needs root. Fails without it when `UNJANK_TEST_ALL=1`, otherwise says that it
//! was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod boosted;
mod places;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use boosted::{NOBODY, unjank};
use places::Places;
use unjank_needs::printed::{stderr, stdout};

/// Runs unjank as sudo does with HOME kept. /var/lib and /var/cache are empty file systems of a
/// private namespace. Their content is printed after the line "in /var".
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

/// su(1) without a login shell keeps TMPDIR of the other user.
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
    let socket = places.dir.path().join("socket");
    let bench = ["launch", "bench", "--no-store", "--pairs=1", "--warm-up", "0", "--ready=notify"];
    let words = [program.to_str().unwrap(), socket.to_str().unwrap()];
    let notified = |temporary: &Path| {
        let launched = with(temporary, &[&bench[..], &["--"], &words[..]].concat());
        assert_eq!(launched.status.code(), Some(0), "{}", stderr(&launched));
        PathBuf::from(fs::read_to_string(&socket).unwrap())
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
