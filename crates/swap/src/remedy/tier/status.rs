//! The state of the tiers of this machine.

use std::path::{Path, PathBuf};

use serde::Serialize;
use unjank_host::ublk::{Control, Found, State, path_of};
use unjank_host::{Bytes, Result, Root};

use super::super::policy::Identity;
use super::directory::TierDirectory;
use super::lock::Supervision;
use super::published::{Progress, Published};
use super::room;
use super::server::PAGE;

/// A tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TierStatus {
    /// Its name.
    pub name: String,
    /// The process that looks after it; none if it was killed, with its keeper.
    pub supervisor: Option<u32>,
    /// The process that serves it.
    pub server: Option<u32>,
    /// The block device, while there is one.
    pub device: Option<PathBuf>,
    /// The policy.
    pub policy: String,
    /// How it identifies a page.
    pub identity: Identity,
    /// The fast backing: a path, or none for memory.
    pub fast: Option<PathBuf>,
    /// Its size.
    pub fast_size: Bytes,
    /// The slow backing.
    pub slow: PathBuf,
    /// Its size, which is that of the device.
    pub slow_size: Bytes,
    /// The part that holds pages; none if the machine does not swap to it.
    pub used: Option<Bytes>,
    /// The memory that is missing to take the tier down.
    pub missing: Bytes,
    /// Whether each page has a checksum.
    pub verify: bool,
    /// What its servers have counted.
    pub progress: Progress,
}

/// All tiers that have their files.
///
/// # Errors
/// The kernel's error, as for a user who may not read the files.
pub fn of_all(all: &Path) -> Result<Vec<TierStatus>> {
    let mut found = Vec::new();
    for directory in TierDirectory::list(all)? {
        found.extend(of(&directory)?);
    }
    Ok(found)
}

/// The state of one; `None` if it has no files yet, or no more.
///
/// # Errors
/// As [`of_all`].
pub fn of(directory: &TierDirectory) -> Result<Option<TierStatus>> {
    let Some(settings) = directory.settings()? else { return Ok(None) };
    let device = match Control::open()?.yes() {
        Some(mut control) => control.find(settings.mark)?,
        None => None,
    };
    let path = device.map(|found| path_of(found.id));
    let area = path.as_deref().map(|path| room::look(&Root::system(), path)).transpose()?.flatten();
    let server = match device {
        Some(Found { state: State::Live { server }, .. }) => Some(server),
        _ => None,
    };
    let supervisor = match directory.supervision()? {
        Supervision::Process(number) => number,
        Supervision::Gone | Supervision::Nobody => None,
    };
    let size = |pages: u32| Bytes(u64::from(pages) * PAGE);
    Ok(Some(TierStatus {
        name: directory.name().to_owned(),
        supervisor,
        server,
        device: path,
        policy: settings.policy,
        identity: settings.identity,
        fast: settings.fast.map(|fast| fast.path),
        fast_size: size(settings.frames),
        slow: settings.slow.path,
        slow_size: size(settings.slots),
        used: area.as_ref().map(|(area, _)| area.used),
        missing: area.map_or(Bytes::default(), |(_, missing)| missing),
        verify: settings.verify,
        progress: Published::read(&directory.counts()?),
    }))
}
