//! The file of one ledger. The holder of its lock appends to it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock, fstat};
use rustix::io::Errno;

use super::entry::{Entry, Header};
use crate::checked_lines::line;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::journal::state_dir::StateDir;

/// The largest ledger in bytes.
pub(super) const LARGEST: u64 = 8 << 20;

/// A ledger whose lock this process holds. Dropping it releases the lock.
#[derive(Debug)]
pub(super) struct LedgerFile {
    file: File,
    name: String,
    path: PathBuf,
    /// Whether the file ends with a torn line that could not be cut off.
    torn: bool,
    /// Whether the last line has no line end, so the next one begins with one.
    open: bool,
}

/// A child that another thread is starting has a copy of the open file until
/// its exec. It must not keep the lock, so the lock is released explicitly.
impl Drop for LedgerFile {
    fn drop(&mut self) {
        let _not_ours_any_more = flock(&self.file, FlockOperation::Unlock);
    }
}

/// The result of an attempt to lock a ledger.
#[derive(Debug)]
pub(super) enum Claim {
    /// Its session lives. With the present content.
    Held(Vec<u8>),
    /// This process has the lock. With the content.
    Ours(LedgerFile, Vec<u8>),
    /// It has been removed.
    Gone,
}

impl LedgerFile {
    /// Creates a ledger with its first line.
    pub(super) fn create(state: &StateDir, name: &str, header: &Header) -> Result<Self> {
        let file = state.create_unsynced(name)?;
        let path = state.journal_path(name);
        flock(&file, FlockOperation::LockExclusive)
            .map_err(|error| Error::file("lock", &path, error.into()))?;
        let mut ledger = Self { file, name: name.to_owned(), path, torn: false, open: false };
        ledger.append(&line(header))?;
        Ok(ledger)
    }

    /// Waits until the lock of the ledger `name` is free.
    pub(super) fn wait_for(state: &StateDir, name: &str) -> Result<()> {
        let Some(file) = state.open_journal(name)? else { return Ok(()) };
        rustix::io::retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))
            .map_err(|error| Error::file("lock", state.journal_path(name), error.into()))
    }

    /// Reads the ledger `name`, and takes its lock if it is free.
    pub(super) fn claim(state: &StateDir, name: &str) -> Result<Claim> {
        let path = state.journal_path(name);
        let error = |source: Errno| Error::file("lock", &path, source.into());
        let Some(mut file) = state.open_journal(name)? else { return Ok(Claim::Gone) };
        let ours = match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => true,
            Err(Errno::WOULDBLOCK) => false,
            Err(errno) => return Err(error(errno)),
        };
        if fstat(&file).map_err(error)?.st_nlink == 0 {
            return Ok(Claim::Gone);
        }
        let mut bytes = Vec::new();
        (&mut file)
            .take(LARGEST + 1)
            .read_to_end(&mut bytes)
            .map_err(|source| Error::file("read", &path, source))?;
        if bytes.len() as u64 > LARGEST {
            return Err(Error::Invalid(format!(
                "{} is larger than {LARGEST} bytes",
                path.display()
            )));
        }
        if !ours {
            return Ok(Claim::Held(bytes));
        }
        let open = bytes.last().is_some_and(|&byte| byte != b'\n');
        Ok(Claim::Ours(Self { file, name: name.to_owned(), path, torn: false, open }, bytes))
    }

    /// Writes entries in one call.
    pub(super) fn note<'a>(&mut self, entries: impl IntoIterator<Item = &'a Entry>) -> Result<()> {
        self.append(&entries.into_iter().map(line).collect::<String>())
    }

    /// Cuts off a torn last line. `bytes` is the file's content. If that fails,
    /// nothing can be appended any more.
    pub(super) fn cut_after(&mut self, intact: u64, bytes: &[u8]) {
        if intact < bytes.len() as u64 {
            self.torn = self.file.set_len(intact).is_err();
        }
        let kept = bytes.get(..intact as usize).unwrap_or(bytes);
        self.open = kept.last().is_some_and(|&byte| byte != b'\n');
    }

    /// Its length in bytes; 0 if that cannot be determined.
    pub(super) fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.len())
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn path(&self) -> &PathBuf {
        &self.path
    }

    fn append(&mut self, text: &str) -> Result<()> {
        let length = self.length();
        let error = |source| Error::file("write", &self.path, source);
        let text = if self.open { format!("\n{text}") } else { text.to_owned() };
        if length + text.len() as u64 > LARGEST {
            let full = format!("it would exceed {LARGEST} bytes");
            return Err(error(std::io::Error::new(std::io::ErrorKind::FileTooLarge, full)));
        }
        if self.torn {
            return Err(error(std::io::Error::other("its last line is torn")));
        }
        if let Err(source) = self.file.write_all(text.as_bytes()) {
            // Half a line would make the rest unreadable.
            self.torn = self.file.set_len(length).is_err();
            return Err(error(source));
        }
        self.open = false;
        Ok(())
    }
}

/// The name of a new ledger. Sorting by name is sorting by age.
pub(super) fn name(owner: u32) -> String {
    format!("{:020}-{owner}.journal", Timestamp::now().as_nanos())
}

/// Whether a ledger with this name belongs to `owner`.
pub(super) fn is_of(name: &str, owner: u32) -> bool {
    name.ends_with(&format!("-{owner}.journal"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_in_a_child_does_not_keep_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::make(directory.path()).unwrap();
        let name = name(1);
        state.create_unsynced(&name).unwrap();
        let claim = || LedgerFile::claim(&state, &name).unwrap();
        let Claim::Ours(ledger, _) = claim() else { panic!("it is free") };
        // As a child of another thread has it before its exec.
        let _copy = ledger.file.try_clone().unwrap();
        assert!(matches!(claim(), Claim::Held(_)));
        drop(ledger);
        assert!(matches!(claim(), Claim::Ours(..)));
    }

    #[test]
    fn a_file_never_exceeds_its_limit() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::make(directory.path()).unwrap();
        let name = name(1);
        let path = state.journal_path(&name);
        let room = line(&Entry::Kept).len() as u64;
        for (filled, open, fits) in [
            (LARGEST - room, false, true),
            (LARGEST - room, true, false),
            (LARGEST - room - 1, true, true),
            (LARGEST - room + 1, false, false),
        ] {
            let file = state.create_unsynced(&name).unwrap();
            file.set_len(filled).unwrap();
            let path = path.clone();
            let mut ledger = LedgerFile { file, name: name.clone(), path, torn: false, open };
            assert_eq!(ledger.note([&Entry::Kept]).is_ok(), fits, "{filled} {open}");
            assert!(ledger.length() <= LARGEST);
            state.remove_journal(&name).unwrap();
        }
    }
}
