//! `unjank watch` goes on when it is stopped, when tracefs is unmounted, when the disk is full, when
//! triggers come in thousands, and beside programs with hostile names.
//!
//! Needs root and tracefs. Fails without them when `UNJANK_TEST_ALL=1`, otherwise says that it was
//! skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod watch_service;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use unjank_needs::printed::stdout;
use unjank_needs::wait::until;
use watch_service::{Pair, SIGCONT, SIGSTOP, Service, instances, send, stall, stall_and_mark};

/// A small file system in memory, which is unmounted in any case.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path, kib: u32) -> Self {
        fs::create_dir_all(at).unwrap();
        let size = format!("size={kib}k,mode=700");
        let mount = ["-t", "tmpfs", "-o", &size, "small"];
        assert!(Command::new("mount").args(mount).arg(at).status().unwrap().success());
        Self(at.to_owned())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _mounted_until_now = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_service_that_was_stopped_for_a_while_goes_on() {
    let Some(service) = Service::start(&[]) else { return };
    send(SIGSTOP, service.child.id());
    let mut pair = Pair::new();
    stall(&mut pair);
    send(SIGCONT, service.child.id());
    stall_and_mark(&service, &mut pair);
}

#[test]
fn an_unmounted_tracefs_makes_no_difference() {
    for signal in ["-TERM", "-KILL"] {
        let Some(service) = Service::start_apart(&[]) else { return };
        let process = service.child.id();
        let unmounted = Command::new("nsenter")
            .args(["--mount", "--target", &process.to_string()])
            .args(["umount", "--lazy", "/sys/kernel/tracing"])
            .status()
            .unwrap();
        assert!(unmounted.success());
        stall_and_mark(&service, &mut Pair::new());
        let (ended_well, said) = service.end(signal);
        assert_eq!(ended_well, signal == "-TERM", "{said}");
        // The keeper of a killed service removes them.
        until("no instance is left", || instances(process).is_empty());
    }
}

#[test]
fn a_full_disk_loses_an_incident_and_not_the_service() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    if !unjank_needs::root() {
        return;
    }
    let disk = SmallDisk::mount(&directory.path().join("disk"), 16_384);
    let Some(service) = Service::start_in(&disk.0, &[]) else { return };
    let filler = disk.0.join("filler");
    let mut pair = Pair::new();
    stall(&mut pair);
    let found = service.mark_process(pair.0.0.id());
    assert!(found.contains("stopped by a signal"), "{found}");
    let full = fs::write(&filler, vec![0; 32 << 20]);
    assert!(full.is_err(), "the disk is full");
    stall(&mut pair);
    let said = service.mark();
    assert!(said.contains("not explained: the service has failed; see its log"), "{said}");
    assert_eq!(service.listed().len(), 1, "the first one is whole");
    fs::remove_file(&filler).unwrap();
    stall(&mut pair);
    let found = service.mark_process(pair.0.0.id());
    assert!(found.contains(" has the details"), "{found}");
    let shown = service.incidents(&["show", "last"]);
    assert!(stdout(&shown).contains("stopped by a signal"));
    let files = fs::read_dir(service.path("watch.sqlite.incidents")).unwrap();
    let files: BTreeSet<_> =
        files.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    let name = |incident: &Value| format!("{}.pftrace.gz", incident["id"].as_str().unwrap());
    let known = service.listed().iter().map(name).collect();
    assert_eq!((&files, files.len()), (&known, 2), "no part of the lost one is left");
    let (ended_well, said) = service.end("-TERM");
    assert!(ended_well && said.contains("an incident is not kept: "), "{said}");
}

#[test]
fn thousands_of_triggers_are_a_few_incidents() {
    let Some(service) = Service::start(&["--buffers", "1MiB"]) else { return };
    // A storm of programs beside them, so that the buffers are overrun all the time.
    let mut storm = Command::new("sh");
    let mut storm = storm.args(["-c", "while :; do /bin/true; done"]).spawn().unwrap();
    let signals = format!(
        "i=0; while [ $i -lt 10000 ]; do kill -USR1 {}; i=$((i + 1)); done",
        service.child.id()
    );
    assert!(Command::new("sh").args(["-c", &signals]).status().unwrap().success());
    let status = service.status();
    let count = |name: &str| status[name].as_u64().unwrap();
    // At most one a second is looked into.
    let looked_into = count("incidents") + count("nothing_found");
    let seconds = count("up") / 1_000_000_000;
    assert!(looked_into <= seconds + 2, "{status}");
    assert!(count("resident") < 64 << 20, "{status}");
    storm.kill().unwrap();
    storm.wait().unwrap();
    let said = service.mark();
    assert!(!said.contains("failed"), "{said}");
    let (ended_well, said) = service.end("-TERM");
    assert!(ended_well, "{said}");
}

#[test]
fn names_of_threads_cannot_steer_a_terminal() {
    let Some(service) = Service::start(&[]) else { return };
    let shell = service.path("\u{1b}[2J\u{7}evil\nx");
    symlink("/bin/sh", &shell).unwrap();
    let work = ["-c", "while :; do sleep 0.05; done"];
    let mut victim = Command::new(&shell).args(work).spawn().unwrap();
    send(SIGSTOP, victim.id());
    std::thread::sleep(Duration::from_secs(2));
    send(SIGCONT, victim.id());
    std::thread::sleep(Duration::from_millis(200));
    // Other tests stop programs at the same time.
    let found = service.asked(&["mark", "--process", &victim.id().to_string()]);
    let found = stdout(&found).to_owned();
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert!(found.contains("evil"), "{found}");
    let listed = service.incidents(&["list"]);
    let shown = service.incidents(&["show"]);
    until("the log has it", || !service.listed().is_empty());
    let (_, said) = service.end("-TERM");
    for text in [found.as_str(), stdout(&listed), stdout(&shown), &said] {
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
    }
}
