//! Sessions on a tree that stands for a machine: what they leave behind when
//! they end, fail, or are killed.

mod coupled;
mod damage;
mod hidden;
mod interleavings;
mod kept;
mod recovery;
mod sessions;

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{ChangeReport, FoundJournal, Mode, RestoreOutcome, Session, restore};
use crate::error::Result;
use crate::process::HelperCommand;
use crate::root::Root;

/// A keeper that answers its owner but puts nothing back, so that these tests
/// see what a killed session leaves.
const IDLE: &str = "read order; echo up >&0; read watch; echo ready >&0; cat > /dev/null";

/// Serialises these tests. A process that another test starts has our locks
/// between fork and exec, so that a dead session would look alive.
static ALONE: Mutex<()> = Mutex::new(());

/// A machine with some knobs, and a state directory.
struct Bench {
    dir: tempfile::TempDir,
    _alone: Option<MutexGuard<'static, ()>>,
}

impl Bench {
    fn new(knobs: &[(&str, &str)]) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        Self::another(Some(alone), knobs)
    }

    /// A second machine in one test.
    fn beside(_first: &Self, knobs: &[(&str, &str)]) -> Self {
        Self::another(None, knobs)
    }

    fn another(alone: Option<MutexGuard<'static, ()>>, knobs: &[(&str, &str)]) -> Self {
        let bench = Self { dir: tempfile::tempdir().unwrap(), _alone: alone };
        fs::create_dir_all(bench.dir.path().join("sys/kernel")).unwrap();
        fs::create_dir_all(bench.dir.path().join("proc/sys/kernel/random")).unwrap();
        bench.boot("first");
        for (name, value) in knobs {
            bench.write(name, value);
        }
        bench
    }

    fn root(&self) -> Root {
        Root::at(self.dir.path())
    }

    fn state_dir(&self) -> PathBuf {
        self.dir.path().join("var/lib/unjank/journal")
    }

    fn open(&self) -> Session {
        Session::open(&self.root(), &self.state_dir(), idle_keeper()).unwrap()
    }

    fn restore(&self) -> Vec<FoundJournal> {
        restore(&self.root(), &self.state_dir(), Mode::Act).unwrap()
    }

    /// Writes as another program.
    fn write(&self, name: &str, value: &str) {
        fs::write(self.dir.path().join("sys").join(name), format!("{value}\n")).unwrap();
    }

    fn read(&self, name: &str) -> String {
        let text = fs::read_to_string(self.dir.path().join("sys").join(name)).unwrap();
        text.trim_end().to_owned()
    }

    fn boot(&self, id: &str) {
        fs::write(self.dir.path().join("proc/sys/kernel/random/boot_id"), id).unwrap();
    }

    /// The journals in the state directory.
    fn journals(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.state_dir()).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|end| end == "journal")).collect()
    }

    /// A session changes `a` to 1 and is killed.
    fn killed_session(&self) {
        let others = self.journals().len();
        let session = self.open();
        let knob = session.change("/sys/a", "1").unwrap();
        super::failpoint::kill_after(0);
        drop((knob, session));
        assert!(super::failpoint::disarm());
        assert_eq!((self.read("a"), self.journals().len()), ("1".to_owned(), others + 1));
    }
}

fn idle_keeper() -> HelperCommand {
    HelperCommand::new("/bin/sh", ["-c", IDLE])
}

fn outcomes(reports: &[ChangeReport]) -> Vec<&RestoreOutcome> {
    reports.iter().map(|report| &report.outcome).collect()
}

fn message<T>(result: Result<T>) -> String {
    result.err().expect("it fails").to_string()
}
