//! The package for Debian: in a fresh system of its own, it is installed, upgraded, removed and
//! purged, and leaves nothing. The packed program is that of these tests.
//!
//! Needs root, debootstrap and Debian's archive. The fresh system is kept for the next time in
//! `target/debian`.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use unjank_needs::printed::{stderr, stdout};
use unjank_needs::{is_there, root};

const SUITE: &str = "bookworm";

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}{}", stdout(&output), stderr(&output));
    output
}

/// A minimal Debian that nothing has changed, made once.
fn fresh() -> PathBuf {
    let kept = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("debian");
    let unfinished = kept.with_extension("new");
    if !kept.exists() {
        let _absent = fs::remove_dir_all(&unfinished);
        run(Command::new("debootstrap").args(["--variant=minbase", SUITE]).arg(&unfinished));
        fs::rename(&unfinished, &kept).unwrap();
    }
    kept
}

/// A copy of the fresh system.
struct System {
    directory: tempfile::TempDir,
}

/// Runs a program below the first argument, with the kernel's file systems, which end with it.
const IN_SYSTEM: &str = r#"
    mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" || exit
    root=$1
    shift
    exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
        DEBIAN_FRONTEND=noninteractive "$@"
"#;

impl System {
    fn new() -> Self {
        let system = Self { directory: tempfile::tempdir().unwrap() };
        run(Command::new("cp").args(["-a", "--"]).arg(fresh()).arg(system.root()));
        system
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", IN_SYSTEM, "sh"]).arg(self.root()).arg(program);
        command
    }

    /// Its files, without those in which dpkg keeps its own state.
    fn files(&self) -> BTreeSet<PathBuf> {
        let root = self.root();
        let found = run(Command::new("find")
            .arg(&root)
            .arg("-xdev")
            .args(["-path", "*/var/lib/dpkg", "-prune", "-o", "-path", "*/var/log", "-prune"])
            .args(["-o", "-path", "*/var/cache/ldconfig", "-prune", "-o", "-print"]));
        let name = |line: &str| Path::new(line).strip_prefix(&root).unwrap().to_owned();
        stdout(&found).lines().map(name).collect()
    }
}

/// Packs the program of these tests, without symbols: most of a debug build are symbols.
fn packed(into: &Path) -> PathBuf {
    let program = into.with_extension("program");
    run(Command::new("strip").arg("-o").arg(&program).arg(unjank_needs::unjank!()));
    let arch = stdout(&run(Command::new("dpkg").arg("--print-architecture"))).trim().to_owned();
    run(Command::new(top().join("scripts/package.sh"))
        .arg(&arch)
        .arg(into)
        .env("BINARY", &program)
        .env("LIBRARY", Path::new(unjank_needs::unjank!()).with_file_name("libunjank_lock.so"))
        .env("DEPENDS", "libc6, libgcc-s1")
        .env("COMPRESSION", "gzip")
        .env("LEVEL", "1")
        .env_remove("RUN")
        .env_remove("DESTDIR")
        .env_remove("PREFIX"));
    fs::remove_file(program).unwrap();
    into.join(format!("unjank_{}_{arch}.deb", env!("CARGO_PKG_VERSION")))
}

#[test]
fn the_same_program_gives_the_same_packages() {
    let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    for directory in [&one, &other] {
        packed(directory.path());
    }
    let names = |directory: &tempfile::TempDir| -> BTreeSet<_> {
        fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    };
    assert_eq!(names(&one), names(&other));
    assert!(names(&one).len() >= 2, "{:?}", names(&one));
    for name in names(&one) {
        let [one, other] = [&one, &other].map(|it| fs::read(it.path().join(&name)).unwrap());
        assert!(one == other, "{} differs", name.display());
    }
}

#[test]
fn a_fresh_debian_has_it_and_then_no_trace_of_it() {
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !root() || !is_there("debootstrap", has("debootstrap")) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let package = packed(directory.path());
    let system = System::new();
    let before = system.files();
    fs::copy(&package, system.root().join("tmp/unjank.deb")).unwrap();

    let install = || run(system.command("dpkg").args(["--install", "/tmp/unjank.deb"]));
    install();
    let version = run(system.command("unjank").arg("--version"));
    assert!(stdout(&version).starts_with(concat!("unjank ", env!("CARGO_PKG_VERSION"))));
    run(system.command("unjank").args(["checkup", "--quick", "--only", "lock", "--no-store"]));
    let why = run(system.command("unjank").args(["why", "--no-store", "--", "true"]));
    assert!(stdout(&why).contains("Where the time went"), "{}", stdout(&why));
    let tried = run(system.command("unjank").args(["lock", "try", "--no-store", "--", "true"]));
    assert!(stdout(&tried).contains("Waits for pthread mutexes"), "{}", stdout(&tried));
    // No systemd runs in this system.
    let boost = system.command("unjank").args(["launch", "boost", "install"]).output().unwrap();
    assert_eq!(boost.status.code(), Some(3), "{}", stderr(&boost));
    assert!(stderr(&boost).contains("systemd does not run here"), "{}", stderr(&boost));

    // An upgrade keeps what unjank has stored; a removal, too.
    let state = system.root().join("var/lib/unjank");
    fs::create_dir_all(state.join("journal")).unwrap();
    fs::create_dir_all(system.root().join("etc/unjank")).unwrap();
    fs::write(system.root().join("etc/unjank/boost.toml"), "").unwrap();
    // As after `systemctl enable`.
    let wants = system.root().join("etc/systemd/system/multi-user.target.wants");
    let had_wants = wants.exists();
    fs::create_dir_all(&wants).unwrap();
    symlink("/usr/lib/systemd/system/unjank-boost.service", wants.join("unjank-boost.service"))
        .unwrap();
    install();
    run(system.command("dpkg").args(["--remove", "unjank"]));
    assert!(state.exists() && !system.root().join("usr/bin/unjank").exists());
    assert!(!wants.join("unjank-boost.service").is_symlink());

    run(system.command("dpkg").args(["--purge", "unjank"]));
    if !had_wants {
        fs::remove_dir(&wants).unwrap();
    }
    fs::remove_file(system.root().join("tmp/unjank.deb")).unwrap();
    let after = system.files();
    let left: Vec<_> = after.difference(&before).collect();
    assert!(left.is_empty(), "{left:#?}");
    let lost: Vec<_> = before.difference(&after).collect();
    assert!(lost.is_empty(), "{lost:#?}");
}
