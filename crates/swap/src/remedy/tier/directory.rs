//! The directory of a tier: what outlives its processes.
//!
//! It is a file system in memory that is never swapped out, so that a server can be started when
//! nothing else can come back from swap, and that is gone after a boot, as the pages are. Its name
//! and its locks are in the directory of all tiers:
//!
//! | file | content |
//! |---|---|
//! | `NAME.lock` | locked by the tier's supervisor; its process number |
//! | `NAME.use` | locked by the process that turns the swap area on or off |
//! | `NAME.server` | locked by the server |
//! | `NAME.filled` | there is, or was, a device: the files below must be visible |
//! | `NAME.down` | the tier is to be taken down |
//! | `NAME/settings` | [`Settings`], as JSON |
//! | `NAME/map` | the [`Map`](super::map::Map) |
//! | `NAME/counts` | what the servers counted ([`Published`](super::published::Published)) |
//! | `NAME/memory` | the frames, if the fast backing is memory |
//!
//! Whoever gets the lock of the supervisor while the files are there takes the tier down.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use unjank_host::memory::SharedRegion;
use unjank_host::{Error, Result};

use super::settings::Settings;

/// The kinds of files beside the directory.
pub(super) const LOCK: &str = "lock";
pub(super) const FILLED: &str = "filled";
pub(super) const DOWN: &str = "down";

/// The directory of all tiers of this machine.
pub fn of_all() -> PathBuf {
    // Android has no /run; its /dev is in memory, too.
    let base = ["/run", "/dev"].map(Path::new).into_iter().find(|path| path.is_dir());
    // Not in /run/unjank, which is that of a service, and goes with it.
    base.unwrap_or(Path::new("/run")).join("unjank-tiers")
}

/// The place of a tier's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierDirectory {
    all: PathBuf,
    name: String,
}

impl TierDirectory {
    /// The tier `name` in the directory of all tiers.
    ///
    /// # Errors
    /// `Invalid` if it is not a name.
    pub fn named(all: &Path, name: &str) -> Result<Self> {
        if Path::new(name).file_name() != Some(name.as_ref()) {
            return Err(Error::Invalid(format!("{name:?} is not the name of a tier")));
        }
        Ok(Self { all: all.to_owned(), name: name.to_owned() })
    }

    /// All tiers, by name.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn list(all: &Path) -> Result<Vec<Self>> {
        let failed = |error| Error::file("list", all, error);
        let entries = match fs::read_dir(all) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let mut tiers = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|kind| kind == LOCK)
                && let Some(name) = path.file_stem().and_then(|name| name.to_str())
            {
                tiers.push(Self::named(all, name)?);
            }
        }
        tiers.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(tiers)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The directory of all tiers.
    pub fn all(&self) -> &Path {
        &self.all
    }

    pub(super) fn beside(&self, kind: &str) -> PathBuf {
        self.all.join(format!("{}.{kind}", self.name))
    }

    pub(super) fn path(&self) -> PathBuf {
        self.all.join(&self.name)
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Asks the supervisor to take the tier down.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn request_down(&self) -> Result<()> {
        if !self.beside(LOCK).exists() {
            return Ok(());
        }
        let path = self.beside(DOWN);
        let mut made = OpenOptions::new();
        let made = made.write(true).create(true).truncate(false).mode(0o600).open(&path);
        made.map(drop).map_err(|error| Error::file("make", path, error))
    }

    /// Whether the tier is to be taken down.
    pub fn is_down_requested(&self) -> bool {
        self.beside(DOWN).exists()
    }

    /// What the tier is made of; `None` if that was not written yet, or not any more.
    ///
    /// # Errors
    /// `Unsupported` if the files are not visible to this process; the file cannot be read.
    pub fn settings(&self) -> Result<Option<Settings>> {
        let path = self.file("settings");
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return if self.beside(FILLED).exists() {
                    let name = &self.name;
                    let why = "are not visible here (another mount namespace)";
                    Err(Error::Unsupported(format!("the files of the swap tier {name} {why}")))
                } else {
                    Ok(None)
                };
            }
            text => text.map_err(|error| Error::file("read", &path, error))?,
        };
        let settings = serde_json::from_str(&text);
        settings.map(Some).map_err(|error| Error::parse(&path, 1, error.to_string()))
    }

    /// The map.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn map(&self) -> Result<SharedRegion> {
        self.region("map")
    }

    /// The counts.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn counts(&self) -> Result<SharedRegion> {
        self.region("counts")
    }

    /// The frames.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn memory(&self) -> Result<SharedRegion> {
        self.region("memory")
    }

    fn region(&self, name: &str) -> Result<SharedRegion> {
        let path = self.file(name);
        let file = OpenOptions::new().read(true).write(true).open(&path);
        SharedRegion::open(&file.map_err(|error| Error::file("open", &path, error))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_lead_out_of_the_directory() {
        for name in ["", "..", "a/b", "/", "a/"] {
            assert!(TierDirectory::named(Path::new("/run/x"), name).is_err(), "{name:?}");
        }
    }
}
