//! Opening files below a directory, safe against changes by its owner.
//!
//! A user who can write to a tree can replace a directory with a link between
//! the check and the use. So a path is opened in one system call that does not
//! leave the directory (`openat2(2)`: `RESOLVE_BENEATH`). If its name without
//! links is wanted, or the kernel is older than 5.6, it is opened name by name,
//! each in the directory that was opened before.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, readlinkat};
use rustix::io::Errno;

/// The number of links that the kernel follows in a path: `path_resolution(7)`.
const MOST_LINKS: usize = 40;

/// Opens `path` below `dir`. `..` in `path` is ignored.
///
/// # Errors
/// `EXDEV` if a link leads out of `dir`, and the errors of openat(2).
pub(crate) fn open(dir: impl AsFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut below: PathBuf = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    if below.as_os_str().is_empty() {
        below.push(".");
    }
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(dir.as_fd(), &below, flags | OFlags::CLOEXEC, Mode::empty(), beneath) {
        // Old kernels; seccomp filters without openat2; a tree that changes.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => walk(dir.as_fd(), &below)?.open(flags),
        opened => opened,
    }
}

/// Finds `path` below `dir`. Returns its path there without links, which begins
/// with `/`, and an `O_PATH` handle.
///
/// # Errors
/// As [`open`].
pub(crate) fn find(dir: impl AsFd, path: &Path) -> Result<(PathBuf, OwnedFd), Errno> {
    let found = walk(dir.as_fd(), path)?;
    let handle = found.open(OFlags::PATH)?;
    let names = found.way.into_iter().map(|(name, _)| name);
    Ok((Path::new("/").join(names.collect::<PathBuf>()), handle))
}

/// A path without links: its names, and a handle for each.
struct ResolvedPath<'fd> {
    top: BorrowedFd<'fd>,
    way: Vec<(OsString, OwnedFd)>,
}

impl ResolvedPath<'_> {
    /// The last directory so far.
    fn here(&self) -> BorrowedFd<'_> {
        self.way.last().map_or(self.top, |(_, handle)| handle.as_fd())
    }

    /// Opens the last name in the directory that was found. A link that has
    /// replaced it is not followed.
    fn open(&self, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match self.way.split_last() {
            None => openat(self.top, ".", flags, Mode::empty()),
            Some(((name, _), above)) => {
                let parent = above.last().map_or(self.top, |(_, handle)| handle.as_fd());
                openat(parent, name, flags, Mode::empty())
            }
        }
    }
}

fn walk<'fd>(top: BorrowedFd<'fd>, path: &Path) -> Result<ResolvedPath<'fd>, Errno> {
    let mut found = ResolvedPath { top, way: Vec::new() };
    let mut left: VecDeque<OsString> =
        names(path).filter(|&name| name != "..").map(OsStr::to_owned).collect();
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        if name == ".." {
            // The kernel's `..` is not used: the directory may have been moved
            // out of the tree.
            found.way.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let next = openat(found.here(), &name, flags, Mode::empty())?;
        if FileType::from_raw_mode(fstat(&next)?.st_mode) != FileType::Symlink {
            found.way.push((name, next));
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(Errno::LOOP);
        }
        let target =
            PathBuf::from(OsString::from_vec(readlinkat(&next, "", Vec::new())?.into_bytes()));
        if target.is_absolute() {
            return Err(Errno::XDEV);
        }
        let before = names(&target).map(OsStr::to_owned).collect::<Vec<_>>();
        before.into_iter().rev().for_each(|name| left.push_front(name));
    }
    Ok(found)
}

fn names(path: &Path) -> impl Iterator<Item = &OsStr> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        Component::ParentDir => Some(OsStr::new("..")),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    use super::*;

    fn tree() -> (tempfile::TempDir, File) {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        fs::create_dir_all(at("tree/sys/policy0")).unwrap();
        fs::write(at("tree/sys/policy0/governor"), "x").unwrap();
        fs::write(at("secret"), "y").unwrap();
        symlink("policy0", at("tree/sys/cpu0")).unwrap();
        symlink("../sys/cpu0/../policy0", at("tree/sys/round")).unwrap();
        symlink("../../secret", at("tree/sys/up")).unwrap();
        symlink("../..", at("tree/sys/out")).unwrap();
        symlink("/etc", at("tree/sys/etc")).unwrap();
        symlink("loop", at("tree/sys/loop")).unwrap();
        let top = File::open(at("tree")).unwrap();
        (dir, top)
    }

    /// The results of both ways to open a path.
    fn both(top: &File, path: &str) -> [Result<(), Errno>; 2] {
        let path = Path::new(path);
        let one = open(top, path, OFlags::RDONLY).map(drop);
        [one, walk(top.as_fd(), path).and_then(|way| way.open(OFlags::RDONLY)).map(drop)]
    }

    #[test]
    fn links_are_followed_below_the_directory_but_not_out_of_it() {
        let (_dir, top) = tree();
        for path in ["/sys/cpu0/governor", "/sys/round/governor", "../sys/policy0", "/"] {
            assert_eq!(both(&top, path), [Ok(()); 2], "{path}");
        }
        for path in ["/sys/up", "/sys/out", "/sys/out/secret", "/sys/etc/hostname", "/sys/etc"] {
            assert_eq!(both(&top, path), [Err(Errno::XDEV); 2], "{path}");
        }
        assert_eq!(both(&top, "/sys/loop"), [Err(Errno::LOOP); 2]);
        assert_eq!(both(&top, "/sys/cpu0/nothing"), [Err(Errno::NOENT); 2]);
        assert_eq!(both(&top, "/../secret"), [Err(Errno::NOENT); 2]);
    }

    #[test]
    fn a_found_path_has_no_links() {
        let (_dir, top) = tree();
        let (name, _) = find(&top, Path::new("/sys/round/governor")).unwrap();
        assert_eq!(name, Path::new("/sys/policy0/governor"));
        assert_eq!(find(&top, Path::new("/")).unwrap().0, Path::new("/"));
    }

    #[test]
    fn a_link_that_replaces_a_directory_does_not_lead_elsewhere() {
        let (dir, top) = tree();
        let at = |path: &str| dir.path().join(path);
        fs::create_dir(at("elsewhere")).unwrap();
        fs::write(at("elsewhere/governor"), "secret").unwrap();
        symlink(at("elsewhere"), at("tree/link")).unwrap();
        let swap = |tree: &File| {
            let exchange = rustix::fs::RenameFlags::EXCHANGE;
            rustix::fs::renameat_with(tree, "link", tree, "sys/policy0", exchange)
        };
        if let Err(Errno::INVAL | Errno::NOSYS) = swap(&top) {
            return println!("this file system cannot exchange names");
        }
        std::thread::scope(|scope| {
            let swapper = scope.spawn(|| (0..20_000).try_for_each(|_| swap(&top)));
            let mut opened = 0;
            while !swapper.is_finished() {
                let path = Path::new("/sys/cpu0/governor");
                let handles = [
                    open(&top, path, OFlags::RDONLY),
                    walk(top.as_fd(), path).and_then(|way| way.open(OFlags::RDONLY)),
                ];
                for handle in handles.into_iter().flatten() {
                    opened += 1;
                    assert_eq!(std::io::read_to_string(File::from(handle)).unwrap(), "x");
                }
            }
            println!("opened {opened} times");
            swapper.join().unwrap().unwrap();
        });
    }
}
