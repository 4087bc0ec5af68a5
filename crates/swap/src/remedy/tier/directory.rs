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
//! | `NAME/map` | the [`Map`] |
//! | `NAME/counts` | what the servers counted ([`Published`]) |
//! | `NAME/memory` | the frames, if the fast backing is memory |
//!
//! Whoever gets the lock of the supervisor while the files are there takes the tier down.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use unjank_host::files::make_private_directory;
use unjank_host::memory::SharedRegion;
use unjank_host::{Error, Result, Support, Timestamp, memory_fs};

use super::map::Map;
use super::published::Published;
use super::settings::Settings;

const LOCK: &str = "lock";
const FILLED: &str = "filled";
const DOWN: &str = "down";
/// All other files beside the directory, the lock last.
const BESIDE: [&str; 4] = [DOWN, "use", "server", LOCK];

/// The part of a process that no two processes may have at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Turning the swap area on or off.
    Use,
    /// Serving the device.
    Server,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Use => "use",
            Self::Server => "server",
        }
    }
}

/// Who looks after a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supervision {
    /// The tier is gone.
    Gone,
    /// Nobody: its supervisor and its keeper were killed.
    Nobody,
    /// A process; its number, unless that is just being written.
    Process(Option<u32>),
}

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

/// The lock of a tier's supervisor, which another process may have.
#[derive(Debug)]
pub struct SupervisorLock {
    directory: TierDirectory,
    lock: File,
}

/// A tier whose supervisor is this process.
#[derive(Debug)]
pub struct HeldTier {
    /// Its files.
    pub directory: TierDirectory,
    lock: File,
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

    fn beside(&self, kind: &str) -> PathBuf {
        self.all.join(format!("{}.{kind}", self.name))
    }

    fn path(&self) -> PathBuf {
        self.all.join(&self.name)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Makes the locks of a new tier in the directory of all tiers, which is made if it is missing,
    /// and becomes its supervisor.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn make(all: &Path) -> Result<HeldTier> {
        make_private_directory(all)?;
        loop {
            let name = format!("{}-{:x}", std::process::id(), Timestamp::now().as_nanos());
            let directory = Self::named(all, &name)?;
            let create = |kind: &str| {
                let path = directory.beside(kind);
                let mut made = OpenOptions::new();
                let made = made.read(true).write(true).create_new(true).mode(0o600);
                made.open(&path).map_err(|error| Error::file("make", path, error))
            };
            let lock = SupervisorLock { lock: create(LOCK)?, directory: directory.clone() };
            // Somebody who looks for leftovers may have been quicker.
            let Some(held) = lock.wait()? else { continue };
            for part in [Part::Use, Part::Server] {
                create(part.name())?;
            }
            return Ok(held);
        }
    }

    /// The lock of the supervisor; `None` if the tier is gone.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn lock(&self) -> Result<Option<SupervisorLock>> {
        let path = self.beside(LOCK);
        match OpenOptions::new().read(true).write(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file("open", path, error)),
            Ok(lock) => Ok(Some(SupervisorLock { directory: self.clone(), lock })),
        }
    }

    /// Who looks after the tier.
    ///
    /// # Errors
    /// The lock cannot be read.
    pub fn supervision(&self) -> Result<Supervision> {
        let Some(SupervisorLock { mut lock, .. }) = self.lock()? else {
            return Ok(Supervision::Gone);
        };
        let failed = |error| Error::file("read", self.beside(LOCK), error);
        if lock.try_lock_shared().is_ok() {
            let links = lock.metadata().map_err(failed)?.nlink();
            return Ok(if links == 0 { Supervision::Gone } else { Supervision::Nobody });
        }
        let mut text = String::new();
        lock.read_to_string(&mut text).map_err(failed)?;
        Ok(Supervision::Process(text.trim().parse().ok()))
    }

    /// Asks the supervisor to take the tier down.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn request_down(&self) -> Result<()> {
        let path = self.beside(DOWN);
        let mut made = OpenOptions::new();
        let made = made.write(true).create(true).truncate(false).mode(0o600).open(&path);
        made.map(drop).map_err(|error| Error::file("make", path, error))
    }

    /// Whether the tier is to be taken down.
    pub fn is_down_requested(&self) -> bool {
        self.beside(DOWN).exists()
    }

    /// Takes a part; `None` if another process has it, or if the tier is gone. It lasts as long as
    /// the file.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn take_part(&self, part: Part) -> Result<Option<File>> {
        let path = self.beside(part.name());
        let failed = |error| Error::file("lock", &path, error);
        let lock = match OpenOptions::new().write(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            lock => lock.map_err(failed)?,
        };
        match lock.try_lock() {
            Ok(()) if lock.metadata().map_err(failed)?.nlink() > 0 => Ok(Some(lock)),
            Ok(()) | Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Whether another process has a part.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn is_taken(&self, part: Part) -> Result<bool> {
        self.take_part(part).map(|taken| taken.is_none())
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

impl HeldTier {
    /// Writes the number of this process to the lock.
    fn sign(self) -> Result<Self> {
        let mut lock = &self.lock;
        let number = format!("{}\n", std::process::id());
        let written = lock
            .rewind()
            .and_then(|()| lock.set_len(0))
            .and_then(|()| lock.write_all(number.as_bytes()));
        written.map_err(|error| Error::file("write", self.directory.beside(LOCK), error))?;
        Ok(self)
    }

    /// Makes the files, with all their memory.
    ///
    /// # Errors
    /// `Unsupported` on an old kernel; the kernel's error, as without enough memory.
    pub fn fill(&self, settings: &Settings) -> Result<()> {
        let path = self.directory.path();
        if let Support::No(reason) = memory_fs::make(&path, settings.memory())? {
            return Err(Error::Unsupported(reason));
        }
        let sizes = [
            ("map", Map::bytes(settings.slots) as u64),
            ("counts", Published::BYTES as u64),
            ("memory", settings.fast_memory()),
        ];
        for (name, bytes) in sizes {
            memory_fs::make_file(&self.directory.file(name), bytes)?;
        }
        // As a whole: a device is added only when they are there.
        let (text, path) = (serde_json::to_string(settings), self.directory.file("settings"));
        let new = self.directory.file("settings.new");
        fs::write(&new, text.expect("settings are plain data"))
            .and_then(|()| fs::rename(&new, &path))
            .and_then(|()| File::create_new(self.directory.beside(FILLED)).map(drop))
            .map_err(|error| Error::file("write", &path, error))
    }

    /// Removes everything. Processes that wait for the lock find that it is gone.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn remove(self) -> Result<()> {
        // First: the files are not to be visible any more.
        self.remove_beside(FILLED)?;
        memory_fs::remove(&self.directory.path())?;
        BESIDE.into_iter().try_for_each(|kind| self.remove_beside(kind))
    }

    fn remove_beside(&self, kind: &str) -> Result<()> {
        let path = self.directory.beside(kind);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::file("remove", path, error))
            }
            _ => Ok(()),
        }
    }
}

impl SupervisorLock {
    /// Waits until no other process looks after the tier, and becomes its supervisor; `None` if the
    /// tier is gone then.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn wait(self) -> Result<Option<HeldTier>> {
        let Self { directory, lock } = self;
        let failed = |error| Error::file("lock", directory.beside(LOCK), error);
        lock.lock().map_err(failed)?;
        if lock.metadata().map_err(failed)?.nlink() == 0 {
            return Ok(None);
        }
        HeldTier { directory, lock }.sign().map(Some)
    }
}

#[cfg(test)]
mod tests {
    use unjank_needs::wait::until;

    use super::*;

    #[test]
    fn one_process_supervises_a_tier_until_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let all = dir.path().join("tiers");
        assert!(TierDirectory::list(&all).unwrap().is_empty());
        let held = TierDirectory::make(&all).unwrap();
        let directory = held.directory.clone();
        assert_eq!(TierDirectory::list(&all).unwrap(), std::slice::from_ref(&directory));
        let this = Supervision::Process(Some(std::process::id()));
        assert_eq!(directory.supervision().unwrap(), this);
        assert!(directory.settings().unwrap().is_none());
        drop(held);
        assert_eq!(directory.supervision().unwrap(), Supervision::Nobody);
        let held = directory.lock().unwrap().unwrap().wait().unwrap().unwrap();
        let inode = held.lock.metadata().unwrap().ino().to_string();
        let waits = |locks: &str| locks.lines().any(|it| it.contains("->") && it.contains(&inode));
        std::thread::scope(|scope| {
            let lock = directory.lock().unwrap().unwrap();
            let waiting = scope.spawn(move || lock.wait());
            until("it waits", || waits(&fs::read_to_string("/proc/locks").unwrap()));
            held.remove().unwrap();
            assert!(waiting.join().unwrap().unwrap().is_none(), "the tier is gone");
        });
        assert_eq!(directory.supervision().unwrap(), Supervision::Gone);
        assert_eq!(fs::read_dir(&all).unwrap().count(), 0);
    }

    #[test]
    fn one_process_at_a_time_has_a_part() {
        let dir = tempfile::tempdir().unwrap();
        let held = TierDirectory::make(&dir.path().join("tiers")).unwrap();
        let directory = held.directory.clone();
        let part = directory.take_part(Part::Use).unwrap();
        assert!(part.is_some() && directory.is_taken(Part::Use).unwrap());
        assert!(!directory.is_taken(Part::Server).unwrap());
        drop(part);
        assert!(!directory.is_taken(Part::Use).unwrap());
        held.remove().unwrap();
        assert!(directory.take_part(Part::Use).unwrap().is_none(), "the tier is gone");
    }

    #[test]
    fn files_that_are_not_visible_are_not_taken_for_gone() {
        let dir = tempfile::tempdir().unwrap();
        let held = TierDirectory::make(&dir.path().join("tiers")).unwrap();
        assert!(held.directory.settings().unwrap().is_none());
        File::create_new(held.directory.beside(FILLED)).unwrap();
        let error = held.directory.settings().unwrap_err();
        assert_eq!(error.class(), unjank_host::ErrorClass::Unsupported);
    }

    #[test]
    fn names_do_not_lead_out_of_the_directory() {
        for name in ["", "..", "a/b", "/", "a/"] {
            assert!(TierDirectory::named(Path::new("/run/x"), name).is_err(), "{name:?}");
        }
    }
}
