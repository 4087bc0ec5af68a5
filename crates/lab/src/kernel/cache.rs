//! The cache of fetched kernels: one directory each, either complete or absent.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use unjank_host::Error as HostError;
use unjank_host::files::Destination;
use unjank_measure::Monitor;

use super::package::{self, Apt};
use super::{Kernel, names};
use crate::architecture::Architecture;
use crate::error::Result;

/// The packages with which the virtual phone was tested, the best first. An
/// archive keeps a version only until the next security update; after that the
/// newest kernel of its suite is used.
const TESTED: [&str; 1] = ["linux-image-6.12.95+deb12"];

/// The Debian mirror from which kernels are fetched by default.
pub const MIRROR: &str = "http://deb.debian.org/debian";

/// How often the progress of a download is checked.
const LOOK: Duration = Duration::from_millis(200);

/// A directory of kernels, of which those of one architecture are seen.
#[derive(Debug, Clone)]
pub struct Cache {
    directory: PathBuf,
    architecture: Architecture,
}

impl Cache {
    /// The cache in `directory`, which is created when something is stored.
    pub fn at(directory: impl Into<PathBuf>, architecture: Architecture) -> Self {
        Self { directory: directory.into(), architecture }
    }

    /// The directory of the kernels, which exists once something is stored.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The cached kernel to use: the best with which the phone was tested, else the
    /// last by name.
    pub fn find(&self) -> Option<Kernel> {
        let there = names(&self.directory).ok()?;
        let is_kernel = |name: &String| {
            let end = name.strip_suffix(self.architecture.debian());
            name.starts_with("linux-image-") && end.is_some_and(|name| name.ends_with('-'))
        };
        let others = there.into_iter().rev().filter(is_kernel);
        tested(self.architecture)
            .chain(others)
            .map(|name| self.directory.join(name))
            .find_map(|directory| Kernel::unpacked(&directory).ok())
    }

    /// The cached kernel, or one fetched from `mirror`. Only one unjank fetches
    /// at a time; others wait for it.
    ///
    /// # Errors
    /// `Unsupported` without apt or Debian's keys, `Program` if the cache is
    /// empty and the mirror cannot be reached.
    pub fn fetch(&self, mirror: &str, monitor: &dyn Monitor) -> Result<Kernel> {
        if let Some(kernel) = self.find() {
            return Ok(kernel);
        }
        package::create(&self.directory)?;
        let lock = self.directory.join("lock");
        let file = Destination::open(&lock)?.open_or_create()?;
        monitor.progress(0.0, "waiting for another fetch");
        file.lock().map_err(|error| HostError::file("lock", &lock, error))?;
        // Another process may have fetched it in the meantime.
        if let Some(kernel) = self.find() {
            return Ok(kernel);
        }
        // The lock is held, so remaining directories are of interrupted
        // fetches.
        for left in names(&self.directory)?.iter().filter(|name| name.starts_with("fetch-")) {
            let _someone_else_may = fs::remove_dir_all(self.directory.join(left));
        }
        let work = tempfile::Builder::new()
            .prefix("fetch-")
            .tempdir_in(&self.directory)
            .map_err(|error| HostError::file("create a directory in", &self.directory, error))?;
        monitor.progress(0.0, "reading the list of packages");
        let apt = Apt::update(&work.path().join("apt"), mirror, self.architecture)?;
        let (package, size) = choose(&apt, self.architecture)?;
        let download = work.path().join("download");
        package::create(&download)?;
        let file = watched(&download, size, monitor, || apt.download(&package, &download))?;
        monitor.progress(1.0, "unpacking");
        let unpacked = work.path().join("unpacked");
        package::create(&unpacked)?;
        package::unpack(&file, &unpacked)?;
        Kernel::unpacked(&unpacked)?;
        let place = self.directory.join(package);
        fs::rename(&unpacked, &place).map_err(|error| HostError::file("create", &place, error))?;
        Kernel::unpacked(&place)
    }
}

/// The names of the tested packages, the best first.
fn tested(architecture: Architecture) -> impl Iterator<Item = String> {
    TESTED.into_iter().map(move |name| format!("{name}-{}", architecture.debian()))
}

/// The package to fetch, and its size in bytes.
fn choose(apt: &Apt, architecture: Architecture) -> Result<(String, u64)> {
    for name in tested(architecture) {
        if let Some(size) = apt.size_of(&name)? {
            return Ok((name, size));
        }
    }
    if let Some(name) = apt.newest()?
        && let Some(size) = apt.size_of(&name)?
    {
        return Ok((name, size));
    }
    Err(HostError::Unsupported(
        "the archive has no kernel for the virtual phone; give one with --kernel".to_owned(),
    )
    .into())
}

/// Does `work` and reports how much of `size` bytes is in `directory`.
fn watched<T>(
    directory: &Path,
    size: u64,
    monitor: &dyn Monitor,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let there = bytes_in(directory);
                let doing =
                    format!("fetching a kernel, {} of {} MB", there / 1_000_000, size / 1_000_000);
                monitor.progress(there as f64 / size.max(1) as f64, &doing);
                thread::sleep(LOOK);
            }
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        done
    })
}

fn bytes_in(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
}

#[cfg(test)]
mod tests {
    use unjank_measure::Silent;

    use super::*;

    fn put(directory: &Path, package: &str) {
        let boot = directory.join(package).join("boot");
        fs::create_dir_all(&boot).unwrap();
        fs::write(boot.join("vmlinuz-x"), "").unwrap();
    }

    #[test]
    fn a_tested_kernel_comes_before_a_newer_one() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path(), Architecture::X86_64);
        assert!(cache.find().is_none());
        fs::create_dir(directory.path().join("linux-image-9-half")).unwrap();
        assert!(cache.find().is_none(), "a directory without a kernel does not count");
        let image = |package: &str| directory.path().join(package).join("boot/vmlinuz-x");
        let best = format!("{}-amd64", TESTED[0]);
        for package in ["linux-image-6.16-amd64", "linux-image-6.17-amd64", &best] {
            put(directory.path(), package);
            assert_eq!(cache.find().unwrap().image, image(package));
        }
        let other = Cache::at(directory.path(), Architecture::Aarch64);
        assert!(other.find().is_none(), "no kernel of another processor");
        put(directory.path(), "linux-image-6.16-arm64");
        assert_eq!(other.find().unwrap().image, image("linux-image-6.16-arm64"));
    }

    #[test]
    fn a_link_in_place_of_the_lock_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let secret = directory.path().join("secret");
        fs::write(&secret, "kept").unwrap();
        std::os::unix::fs::symlink(&secret, directory.path().join("lock")).unwrap();
        assert!(
            Cache::at(directory.path(), Architecture::X86_64)
                .fetch("http://no.invalid", &Silent)
                .is_err()
        );
        assert_eq!(fs::read_to_string(&secret).unwrap(), "kept");
    }

    #[test]
    fn a_cached_kernel_is_not_fetched() {
        let directory = tempfile::tempdir().unwrap();
        put(directory.path(), &format!("{}-amd64", TESTED[0]));
        let kernel = Cache::at(directory.path(), Architecture::X86_64)
            .fetch("http://no.invalid", &Silent)
            .unwrap();
        assert!(kernel.image.ends_with("boot/vmlinuz-x"));
    }
}
