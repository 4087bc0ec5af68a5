//! The settings for every boot, as files that other programs read.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use unjank_host::files::{Destination, make_directory};
use unjank_host::{Error, Result};

use super::decide::{Backend, Proposal};

/// The first line of each file. Only a file that begins so is replaced or removed.
const MARK: &str = "# Written by unjank swap tune --write; unjank swap tune --undo removes it.\n";
/// The longest file that is looked at.
const LONGEST: u64 = 64 << 10;

/// All files, below `/etc`.
const ZRAM: &str = "systemd/zram-generator.conf.d/90-unjank.conf";
const ZSWAP: &str = "tmpfiles.d/unjank-zswap.conf";
const SYSCTL: &str = "sysctl.d/90-unjank-swap.conf";
const ALL: [&str; 3] = [ZRAM, ZSWAP, SYSCTL];

/// Writes the files for `proposal` below `etc`, and removes those that it does not need. Returns the
/// paths of the written ones.
///
/// # Errors
/// `Invalid` if another program's file is in the way; the error of writing one.
pub fn write(proposal: &Proposal, etc: &Path) -> Result<Vec<PathBuf>> {
    let texts = texts(proposal);
    for (name, _) in &texts {
        check_ours(&etc.join(name))?;
    }
    // What could not be decided stays.
    if proposal.backend != Backend::Unchanged {
        remove(etc, |name| name != SYSCTL && texts.iter().all(|(written, _)| *written != name))?;
    }
    let mut paths = Vec::new();
    for (name, text) in texts {
        let path = etc.join(name);
        if let Some(directory) = path.parent() {
            make_directory(directory)?;
        }
        Destination::open_file(&path)?.write(text.as_bytes())?;
        paths.push(path);
    }
    Ok(paths)
}

/// Removes the files, and returns their paths.
///
/// # Errors
/// The error of reading or removing one.
pub fn undo(etc: &Path) -> Result<Vec<PathBuf>> {
    remove(etc, |_| true)
}

fn remove(etc: &Path, is_meant: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for path in ALL.iter().filter(|name| is_meant(name)).map(|name| etc.join(name)) {
        if is_ours(&path)? == Some(true) {
            fs::remove_file(&path).map_err(|source| Error::file("remove", &path, source))?;
            removed.push(path);
        }
    }
    Ok(removed)
}

fn check_ours(path: &Path) -> Result<()> {
    if is_ours(path)? == Some(false) {
        return Err(Error::Invalid(format!(
            "{} was not written by unjank, so it is not replaced",
            path.display()
        )));
    }
    Ok(())
}

/// Whether a file begins with the mark; `None` if there is no such file.
fn is_ours(path: &Path) -> Result<Option<bool>> {
    let failed = |source| Error::file("read", path, source);
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = match File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)
    {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => return Ok(Some(false)),
        Err(error) => return Err(failed(error)),
    };
    if !file.metadata().map_err(failed)?.is_file() {
        return Ok(Some(false));
    }
    let mut text = Vec::new();
    file.take(LONGEST).read_to_end(&mut text).map_err(failed)?;
    Ok(Some(text.starts_with(MARK.as_bytes())))
}

/// The files, with their texts.
fn texts(proposal: &Proposal) -> Vec<(&'static str, String)> {
    let mut texts = Vec::new();
    match &proposal.backend {
        Backend::Zram { algorithm, size, .. } => {
            let mib = size.get() >> 20;
            // zram-generator.conf(5): zram-size is in MiB.
            let text = format!(
                "{MARK}[zram0]\nzram-size = {mib}\ncompression-algorithm = {algorithm}\n\
                 swap-priority = 100\n"
            );
            texts.push((ZRAM, text));
        }
        Backend::Zswap { compressor, shrinker } => {
            let set = |name: &str, value: &str| {
                // tmpfiles.d(5): `w` writes to a file that exists, `-` ignores failures.
                format!("w- /sys/module/zswap/parameters/{name} - - - - {value}\n")
            };
            let compressor = compressor.as_deref().map(|name| set("compressor", name));
            let shrinker = shrinker.then(|| set("shrinker_enabled", "Y"));
            let lines = [compressor, shrinker, Some(set("enabled", "Y"))];
            texts.push((
                ZSWAP,
                lines.into_iter().flatten().fold(MARK.to_owned(), |all, it| all + &it),
            ));
        }
        Backend::Unchanged => {}
    }
    let sysctl = |name: &str, value: Option<u32>| {
        value.map_or_else(String::new, |value| format!("vm.{name} = {value}\n"))
    };
    let values =
        sysctl("swappiness", proposal.swappiness) + &sysctl("page-cluster", proposal.page_cluster);
    if !values.is_empty() {
        texts.push((SYSCTL, format!("{MARK}{values}")));
    }
    texts
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{lchown, symlink};

    use unjank_host::Bytes;

    use super::*;

    fn proposal(backend: Backend) -> Proposal {
        Proposal { backend, swappiness: Some(180), page_cluster: None, settings: Vec::new() }
    }

    fn zram() -> Proposal {
        let (algorithm, size) = ("zstd".to_owned(), Bytes::from_mib(6144));
        proposal(Backend::Zram { algorithm, size, exists: false })
    }

    #[test]
    fn files_are_written_replaced_and_removed() {
        let etc = tempfile::tempdir().unwrap();
        let written = write(&zram(), etc.path()).unwrap();
        assert_eq!(written, [ZRAM, SYSCTL].map(|name| etc.path().join(name)));
        let text = |name: &str| fs::read_to_string(etc.path().join(name)).unwrap();
        let expected = "[zram0]\nzram-size = 6144\ncompression-algorithm = zstd\n\
                        swap-priority = 100\n";
        assert_eq!(text(ZRAM), format!("{MARK}{expected}"));
        assert_eq!(text(SYSCTL), format!("{MARK}vm.swappiness = 180\n"));
        let zswap = Backend::Zswap { compressor: Some("lzo".to_owned()), shrinker: true };
        write(&proposal(zswap), etc.path()).unwrap();
        assert!(!etc.path().join(ZRAM).exists(), "zram is no longer proposed");
        assert_eq!(text(ZSWAP).lines().count(), 4);
        assert!(text(ZSWAP).ends_with("w- /sys/module/zswap/parameters/enabled - - - - Y\n"));
        assert_eq!(undo(etc.path()).unwrap(), [ZSWAP, SYSCTL].map(|name| etc.path().join(name)));
        assert!(undo(etc.path()).unwrap().is_empty());
    }

    #[test]
    fn files_of_others_are_left_alone() {
        let etc = tempfile::tempdir().unwrap();
        let path = etc.path().join(SYSCTL);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "vm.swappiness = 10\n").unwrap();
        let error = write(&zram(), etc.path()).unwrap_err().to_string();
        assert!(error.ends_with("was not written by unjank, so it is not replaced"), "{error}");
        assert!(!etc.path().join(ZRAM).exists(), "nothing is written then");
        assert!(undo(etc.path()).unwrap().is_empty());
        fs::remove_file(&path).unwrap();
        fs::write(etc.path().join("other"), MARK).unwrap();
        symlink(etc.path().join("other"), &path).unwrap();
        assert!(write(&zram(), etc.path()).is_err());
        assert!(undo(etc.path()).unwrap().is_empty() && path.exists());
    }
    #[test]
    fn root_makes_no_directory_behind_a_link_of_others() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        fs::create_dir(at("there")).unwrap();
        symlink("there", at("link")).unwrap();
        if lchown(at("link"), Some(65534), None).is_err() {
            return println!("only root can give links to another user");
        }
        assert!(write(&zram(), &at("link/etc")).is_err());
        assert_eq!(fs::read_dir(at("there")).unwrap().count(), 0);
    }
}
