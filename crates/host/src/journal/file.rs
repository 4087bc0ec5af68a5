//! The file of one journal. The session that holds its lock appends to it.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock, fstat};
use rustix::io::Errno;
use serde::Serialize;

use super::content::Journal;
use super::entry::{Entry, Header, LARGEST_JOURNAL};
use super::failpoint;
use super::state_dir::StateDir;
use crate::checked_lines::line;
use crate::error::{Error, Result};

/// The length in bytes up to which changes are announced. The rest is for the
/// results of announced changes.
const ROOM_FOR_CHANGES: u64 = LARGEST_JOURNAL / 2;

/// A journal whose lock this process holds. Dropping it releases the lock.
///
/// The lock is `flock(2)`: it belongs to the open file, which no program that
/// we start inherits, and the kernel releases it when this process ends, for
/// whatever reason. A free lock shows that the session is over.
#[derive(Debug)]
pub(super) struct JournalFile {
    file: File,
    name: String,
    path: PathBuf,
    /// The length in bytes of the complete lines.
    length: u64,
    /// Whether the file ends with a torn line that could not be cut off.
    torn: bool,
    /// Whether the last line has no line end, so the next one begins with one.
    open: bool,
}

/// A child that another thread is starting has a copy of the open file until
/// its exec. It must not keep the lock, so the lock is released explicitly.
impl Drop for JournalFile {
    fn drop(&mut self) {
        let _not_ours_any_more = flock(&self.file, FlockOperation::Unlock);
    }
}

/// The result of an attempt to lock a journal.
#[derive(Debug)]
pub(super) enum Claim {
    /// This process has the lock, so the session is over. With the content.
    Ours(JournalFile, Vec<u8>),
    /// The session, or a process that is about to clear the journal, has the
    /// lock. With the present content.
    Held(Vec<u8>),
    /// The journal has been removed.
    Gone,
}

impl JournalFile {
    /// Creates a journal with its first line. The caller has the lock of the
    /// state directory: another process could take the empty file for a stale
    /// one.
    pub(super) fn create(state: &StateDir, name: &str, header: &Header) -> Result<Self> {
        let path = state.journal_path(name);
        let file = state.create_journal(name)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|source| Error::file("lock", &path, source.into()))?;
        let mut journal =
            Self { file, name: name.to_owned(), path, length: 0, torn: false, open: false };
        if let Err(error) = journal.append_lines(&[header], LARGEST_JOURNAL) {
            state.remove_journal(name)?;
            return Err(error);
        }
        Ok(journal)
    }

    /// Takes the lock of the journal `name` if it is free.
    pub(super) fn claim(state: &StateDir, name: &str) -> Result<Claim> {
        Self::take(state, name, FlockOperation::NonBlockingLockExclusive)
    }

    /// Waits for the end of the session that holds the journal `name`.
    pub(super) fn wait_for(state: &StateDir, name: &str) -> Result<Claim> {
        Self::take(state, name, FlockOperation::LockExclusive)
    }

    fn take(state: &StateDir, name: &str, lock: FlockOperation) -> Result<Claim> {
        let path = state.journal_path(name);
        let Some(file) = state.open_journal(name)? else { return Ok(Claim::Gone) };
        match rustix::io::retry_on_intr(|| flock(&file, lock)) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(Claim::Held(content(&file, &path)?)),
            Err(source) => return Err(Error::file("lock", &path, source.into())),
        }
        // The former holder of the lock may have removed the journal.
        let stat = fstat(&file).map_err(|source| Error::file("open", &path, source.into()))?;
        if stat.st_nlink == 0 {
            return Ok(Claim::Gone);
        }
        let bytes = content(&file, &path)?;
        let length = bytes.len() as u64;
        let open = bytes.last().is_some_and(|&byte| byte != b'\n');
        let name = name.to_owned();
        Ok(Claim::Ours(Self { file, name, path, length, torn: false, open }, bytes))
    }

    /// Its name in the state directory.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Cuts off the torn last line of a killed session. `bytes` is the file's
    /// content.
    pub(super) fn cut_after(&mut self, journal: &Journal, bytes: &[u8]) {
        self.torn = journal.intact < self.length;
        self.length = journal.intact;
        let kept = bytes.get(..journal.intact as usize).unwrap_or(bytes);
        self.open = kept.last().is_some_and(|&byte| byte != b'\n');
        self.mend();
    }

    /// Announces changes: when this returns, they are on the disk.
    pub(super) fn announce(&mut self, entries: &[Entry]) -> Result<()> {
        let length = self.length;
        self.append_lines(entries, ROOM_FOR_CHANGES)?;
        self.file.sync_data().map_err(|source| {
            self.length = length;
            self.torn = true;
            self.mend();
            self.error(source)
        })
    }

    /// Announces another value of an announced change. It need not be on the
    /// disk: the announcement of the first value is, and a write survives the
    /// death of its process.
    pub(super) fn announce_again(&mut self, entry: &Entry) -> Result<()> {
        self.append_lines(&[entry], ROOM_FOR_CHANGES)
    }

    /// Records the results of announced changes.
    pub(super) fn note(&mut self, entries: &[Entry]) -> Result<()> {
        self.append_lines(entries, LARGEST_JOURNAL)
    }

    /// Writes the lines in one call. If that fails half-way, the written part
    /// is cut off again, so that the next line starts cleanly.
    fn append_lines(&mut self, entries: &[impl Serialize], room: u64) -> Result<()> {
        let first = if self.open { "\n" } else { "" };
        let lines: String =
            [first.to_owned()].into_iter().chain(entries.iter().map(line)).collect();
        let length = self.length.saturating_add(lines.len() as u64);
        if length > room {
            let full = io::Error::new(io::ErrorKind::FileTooLarge, "too many changes");
            return Err(self.error(full));
        }
        self.mend();
        if self.torn {
            return Err(self.error(io::Error::other("its last line is torn")));
        }
        let written = match failpoint::check() {
            Ok(()) => self.file.write_all(lines.as_bytes()),
            Err(killed) => {
                // A kill can leave any part of the lines.
                let part = &lines.as_bytes()[..lines.len() / 2];
                let _part = self.file.write_all(part);
                Err(killed)
            }
        };
        if let Err(source) = written {
            self.torn = true;
            self.mend();
            return Err(self.error(source));
        }
        self.length = length;
        self.open = false;
        Ok(())
    }

    fn mend(&mut self) {
        if self.torn && failpoint::check().is_ok() {
            self.torn = self.file.set_len(self.length).is_err();
        }
    }

    fn error(&self, source: io::Error) -> Error {
        Error::file("write", &self.path, source)
    }
}

/// The content of the journal.
///
/// # Errors
/// `File` if it is larger than [`LARGEST_JOURNAL`].
fn content(file: &File, path: &Path) -> Result<Vec<u8>> {
    let error = |source| Error::file("read", path, source);
    let length = file.metadata().map_err(error)?.len();
    if length > LARGEST_JOURNAL {
        let large = format!("larger than {LARGEST_JOURNAL} bytes");
        return Err(error(io::Error::new(io::ErrorKind::FileTooLarge, large)));
    }
    let mut bytes = vec![0; length as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        // It may be cut while it is read: a shorter journal is valid, too.
        match file.read_at(&mut bytes[filled..], filled as u64) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(source) if source.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(error(source)),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::entry::{Change, SCHEMA};

    fn header() -> Header {
        Header {
            schema: SCHEMA.to_owned(),
            pid: 1,
            boot_id: None,
            cgroup_namespace: None,
            network_namespace: None,
            root: "/".to_owned(),
            started_at: String::new(),
        }
    }

    fn intent(seq: u64) -> Entry {
        let change =
            Change::File { before: "a".to_owned(), wanted: "b".to_owned(), dependant: false };
        Entry::Intent { seq, path: "/sys/x".to_owned(), change }
    }

    fn state() -> (tempfile::TempDir, StateDir) {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::make(&dir.path().join("state")).unwrap();
        (dir, state)
    }

    #[test]
    fn a_live_journal_cannot_be_claimed_and_a_dead_one_once() {
        let (_dir, state) = state();
        let mut live = JournalFile::create(&state, "1.journal", &header()).unwrap();
        live.announce(&[intent(1)]).unwrap();
        let Claim::Held(bytes) = JournalFile::claim(&state, "1.journal").unwrap() else {
            panic!("the lock was not held");
        };
        assert_eq!(Journal::parse(Path::new("j"), &bytes).unwrap().ledger.held().len(), 1);
        drop(live);
        let claim = JournalFile::claim(&state, "1.journal").unwrap();
        assert!(matches!(claim, Claim::Ours(..)));
        assert!(matches!(JournalFile::claim(&state, "1.journal").unwrap(), Claim::Held(_)));
        state.remove_journal("1.journal").unwrap();
        drop(claim);
        assert!(matches!(JournalFile::claim(&state, "1.journal").unwrap(), Claim::Gone));
    }

    #[test]
    fn a_line_that_was_not_fully_written_leaves_no_trace() {
        let (_dir, state) = state();
        let mut journal = JournalFile::create(&state, "1.journal", &header()).unwrap();
        journal.announce(&[intent(1)]).unwrap();
        failpoint::kill_after(0);
        journal.announce(&[intent(2)]).unwrap_err();
        failpoint::disarm();
        journal.announce(&[intent(3)]).unwrap();
        let bytes = std::fs::read(state.journal_path("1.journal")).unwrap();
        let journal = Journal::parse(Path::new("j"), &bytes).unwrap();
        assert_eq!(journal.intact, bytes.len() as u64);
        assert_eq!(journal.ledger.held().iter().map(|held| held.seq).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn a_full_journal_has_room_for_the_results_of_its_changes() {
        let (_dir, state) = state();
        let mut journal = JournalFile::create(&state, "1.journal", &header()).unwrap();
        let value = "x".repeat(1 << 20);
        let more = Entry::Set { seq: 1, value: value.clone() };
        let announced = (0..10).take_while(|_| journal.announce_again(&more).is_ok()).count();
        assert!((1..10).contains(&announced));
        journal.note(&[Entry::Settled { seq: 1, value: Some(value) }]).unwrap();
    }

    #[test]
    fn a_file_that_is_too_large_is_not_read_into_memory() {
        let (_dir, state) = state();
        state.create_journal("1.journal").unwrap().set_len(LARGEST_JOURNAL + 1).unwrap();
        let error = JournalFile::claim(&state, "1.journal").unwrap_err();
        assert!(error.to_string().contains("larger than"), "{error}");
    }
}
