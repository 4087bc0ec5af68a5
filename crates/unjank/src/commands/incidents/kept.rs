//! Kept incidents: a record of each in a store, and its recording beside it.

use std::collections::BTreeSet;
use std::fs::{self, TryLockError};
use std::io::{BufWriter, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Result;
use flate2::Compression;
use flate2::write::GzEncoder;
use unjank_host::files::{Existing, Readers, WholeFile, make_private_directory};
use unjank_host::{Bytes, Error};
use unjank_launch::remedy::learned::Learned;
use unjank_measure::store::{Entry, Filter, Order, Selector};
use unjank_measure::{RunRecord, Store};
use unjank_why::export;
use unjank_why::report::Explained;

/// The command of the incidents' records.
pub(crate) const COMMAND: &str = "watch";

/// The store of the service, which runs as root.
pub(crate) const STORE: &str = "/var/lib/unjank/watch.sqlite";

/// The store's key for the learned lengths of launches.
const LEARNED: &str = "watch/learned";

/// What the name of a recording ends with, behind the id of its incident.
const SUFFIX: &str = ".pftrace.gz";

/// Where incidents are kept.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct KeptArgs {
    /// Store of the incidents; their recordings are in the directory FILE.incidents
    #[arg(long, value_name = "FILE", default_value = STORE)]
    pub(crate) store: PathBuf,
}

/// The kept incidents.
#[derive(Debug)]
pub(crate) struct Kept {
    store: Store,
    recordings: PathBuf,
    /// Holds the lock of the service that writes, as long as this lives.
    lock: Option<fs::File>,
}

impl KeptArgs {
    /// Opens the store, which is made if it is missing.
    pub(crate) fn open(&self) -> Result<Kept> {
        let mut recordings = self.store.clone().into_os_string();
        recordings.push(".incidents");
        Ok(Kept { store: Store::open(&self.store)?, recordings: recordings.into(), lock: None })
    }

    /// As `open`, to write to it.
    ///
    /// # Errors
    /// Another user could replace the store or a recording.
    pub(crate) fn open_for_writing(&self) -> Result<Kept> {
        Store::check_place(&self.store)?;
        let kept = self.open()?;
        make_private_directory(&kept.recordings)?;
        Ok(kept)
    }

    /// As `open_for_writing`, for the service.
    ///
    /// # Errors
    /// Another service writes to it.
    pub(crate) fn open_for_service(&self) -> Result<Kept> {
        let mut kept = self.open_for_writing()?;
        kept.lock = Some(lock(&kept.recordings)?);
        Ok(kept)
    }

    /// As `open`, if incidents have been kept there.
    ///
    /// # Errors
    /// There is no such store, or this user cannot read it.
    pub(crate) fn open_existing(&self) -> Result<Kept> {
        let there = fs::metadata(&self.store);
        if there.as_ref().is_err_and(|why| why.kind() == ErrorKind::PermissionDenied) {
            // Whether there is such a file, this user cannot know.
            let what = format!("reading {}", self.store.display());
            let needs = "root (it is there only if unjank watch has run)".to_owned();
            return Err(Error::Permission { what, needs }.into());
        }
        if there.is_err() {
            let reason = format!(
                "there is no {}: sudo unjank watch keeps incidents there",
                self.store.display()
            );
            return Err(Error::Unsupported(reason).into());
        }
        self.open()
    }
}

/// Locks the directory of the recordings: a second service would take recordings of the first one,
/// whose records are not written yet, for orphans.
fn lock(recordings: &Path) -> Result<fs::File> {
    let directory =
        fs::File::open(recordings).map_err(|why| Error::file("open", recordings, why))?;
    match directory.try_lock() {
        Ok(()) => Ok(directory),
        Err(TryLockError::WouldBlock) => {
            let reason = format!("another service keeps its incidents in {}", recordings.display());
            Err(Error::Invalid(reason).into())
        }
        Err(TryLockError::Error(why)) => Err(Error::file("lock", recordings, why).into()),
    }
}

impl Kept {
    /// The incidents, the last one that was kept first.
    pub(crate) fn list(&self) -> Result<Vec<Entry>> {
        let command = Some(COMMAND.to_owned());
        let filter = Filter { command, limit: None, order: Order::Stored };
        Ok(self.store.list(&filter)?)
    }

    /// The record of an incident: `last`, `last~1`, or the beginning of its id.
    ///
    /// # Errors
    /// No incident or several are meant, or its id cannot be the name of a recording.
    pub(crate) fn find(&self, name: &str) -> Result<RunRecord> {
        let entries = self.list()?;
        let selector: Selector = name.parse().unwrap_or(Selector::Last(0));
        let id = match &selector {
            Selector::Last(back) => entries.get(*back as usize).map(|entry| entry.id.clone()),
            Selector::Prefix(prefix) => {
                let found: Vec<&Entry> =
                    entries.iter().filter(|entry| entry.id.starts_with(prefix)).collect();
                if found.len() > 1 {
                    let what = format!("{} incidents begin with {prefix}", found.len());
                    return Err(Error::Invalid(what).into());
                }
                found.first().map(|entry| entry.id.clone())
            }
        };
        let id = id.ok_or_else(|| match entries.len() {
            0 => Error::Invalid("no incident has been kept yet".to_owned()),
            kept => Error::Invalid(format!("there is no incident {name}; {kept} are kept")),
        })?;
        Ok(with_file_name(self.store.get(&Selector::Prefix(id))?)?)
    }

    /// The recording of an incident, for `unjank why FILE`.
    pub(crate) fn recording(&self, id: &str) -> PathBuf {
        self.recordings.join(format!("{id}{SUFFIX}"))
    }

    /// The number of kept incidents with this cause.
    pub(crate) fn with_cause(&self, cause: &str) -> Result<u64> {
        let records = self.records()?;
        Ok(records.iter().filter(|record| cause_of(record) == Some(cause)).count() as u64)
    }

    /// The lengths of launches that were learned before; none if they cannot be read.
    pub(crate) fn learned(&self) -> Learned {
        let text = self.store.recall(LEARNED).ok().flatten().unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Keeps the learned lengths of launches.
    pub(crate) fn keep_learned(&mut self, learned: &Learned) -> Result<()> {
        Ok(self.store.remember(LEARNED, &serde_json::to_string(learned)?)?)
    }

    /// Keeps the recording of an incident, which only root can read.
    pub(crate) fn keep_recording(&self, id: &str, explained: &Explained) -> Result<()> {
        let path = self.recording(id);
        let whole = WholeFile::create(&path, Existing::Keep, Readers::Owner)?;
        let mut out = GzEncoder::new(BufWriter::new(whole.file()?), Compression::fast());
        let written = export::perfetto(explained, &mut out)
            .and_then(|()| out.finish())
            .and_then(|mut out| out.flush());
        written.map_err(|why| whole.error(why))?;
        Ok(whole.finish()?)
    }

    /// Keeps the record of an incident, or else removes its recording.
    pub(crate) fn keep(&mut self, record: &RunRecord) -> Result<()> {
        if let Err(error) = self.store.put(record) {
            // An orphan would be removed at the next start.
            let _it_may_be_missing = fs::remove_file(self.recording(&record.id));
            return Err(error.into());
        }
        Ok(())
    }

    /// Removes incidents, the oldest first, until all together take at most `most`. Returns the
    /// removed ones. The newest one stays.
    pub(crate) fn prune(&mut self, most: Bytes) -> Result<Vec<Entry>> {
        let mut entries = self.list()?;
        let mut size: u64 = entries.iter().map(|entry| self.size(entry)).sum();
        let mut removed = Vec::new();
        while size > most.get() && entries.len() > 1 {
            let Some(oldest) = entries.pop() else { break };
            size = size.saturating_sub(self.size(&oldest));
            self.remove(&oldest.id)?;
            removed.push(oldest);
        }
        Ok(removed)
    }

    /// Removes recordings without a record, as of a service that was killed in between. Another
    /// store has another directory.
    pub(crate) fn remove_orphans(&self) -> Result<()> {
        let ids: BTreeSet<String> = self.list()?.into_iter().map(|entry| entry.id).collect();
        let Ok(files) = fs::read_dir(&self.recordings) else { return Ok(()) };
        for file in files.flatten() {
            let name = file.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(SUFFIX));
            if id.is_some_and(|id| !ids.contains(id)) {
                let path = file.path();
                fs::remove_file(&path).map_err(|why| Error::file("remove", &path, why))?;
            }
        }
        Ok(())
    }

    /// Removes an incident.
    pub(crate) fn remove(&mut self, id: &str) -> Result<()> {
        let recording = self.recording(id);
        if let Err(why) = fs::remove_file(&recording)
            && why.kind() != ErrorKind::NotFound
        {
            return Err(Error::file("remove", &recording, why).into());
        }
        self.store.delete(&Selector::Prefix(id.to_owned()))?;
        Ok(())
    }

    /// The size of a record and its recording, in bytes.
    pub(crate) fn size(&self, entry: &Entry) -> u64 {
        let recording =
            fs::symlink_metadata(self.recording(&entry.id)).map_or(0, |file| file.len());
        entry.size.get().saturating_add(recording)
    }

    /// All records, newest first, without those that the service removes meanwhile and those that
    /// cannot be read.
    pub(crate) fn records(&self) -> Result<Vec<RunRecord>> {
        let mut records = Vec::new();
        for entry in self.list()? {
            match self.store.get(&Selector::Prefix(entry.id)) {
                Ok(record) => records.push(record),
                Err(
                    unjank_measure::Error::NoRun { .. } | unjank_measure::Error::DamagedRun { .. },
                ) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(records)
    }
}

/// Refuses a record whose id cannot be the name of a recording, as of a store that another user has
/// written.
fn with_file_name(record: RunRecord) -> Result<RunRecord, Error> {
    if record.id.contains('/') {
        return Err(Error::Invalid(format!("{:?} is not the id of an incident", record.id)));
    }
    Ok(record)
}

/// The cause of an incident, by which incidents are counted together.
pub(crate) fn cause_of(record: &RunRecord) -> Option<&str> {
    record.settings.get("cause").and_then(|cause| cause.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_lead_to_another_directory() {
        for (id, is_one) in [("a", true), ("../b", false), ("/c", false)] {
            let json = serde_json::json!({
                "schema": "unjank.run/1", "id": id, "tool": { "version": "" }, "command": COMMAND,
                "started_at": "z", "elapsed": 0, "host": {}, "settings": {},
            });
            let record = serde_json::from_value(json).unwrap();
            assert_eq!(with_file_name(record).is_ok(), is_one, "{id}");
        }
    }
}
