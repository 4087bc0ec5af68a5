//! Killing all processes of a control group, as systemd ends a service.
//!
//! In version 2, `cgroup.kill` does it in one write (Linux 5.14). Before that
//! the group is frozen (5.2), so that its members cannot fork, and they are
//! killed until none is left. Version 1 has neither. There a member may fork
//! between the listing and the signal, so the list is read again until it is
//! empty.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::process::send_signal;

/// How often members are listed, and the pause between. A process whose memory
/// is swapped out takes seconds to end.
const LOOKS: u32 = 3_000;
const LOOK: Duration = Duration::from_millis(10);
/// The deepest nesting of groups that is followed.
const DEEPEST: u32 = 32;
/// A member in a PID namespace that is not below this process's: `cgroup.procs`
/// has 0 instead of a number.
const FOREIGN: u32 = 0;
/// The largest list of processes in bytes.
const LARGEST_LIST: u64 = 16 << 20;

/// Kills all members of the control group that `group` has open, and of the
/// groups below it, which are removed. `path` names it in errors.
///
/// # Errors
/// `Unsupported` if this process is one of them, some are in a PID namespace that
/// this process does not see into, or some do not end.
pub(crate) fn kill_members(group: impl AsFd, path: &Path) -> Result<()> {
    let group = group.as_fd();
    let own = std::process::id();
    let found = members(group, DEEPEST, path)?;
    if found.contains(&own) {
        let path = path.display();
        return Err(Error::Unsupported(format!(
            "this process is in {path} and would be killed, too"
        )));
    }
    // Without these files (older kernels, version 1), the signals do it.
    let all_at_once = write(group, "cgroup.kill").is_ok();
    let _none_starts_another = write(group, "cgroup.freeze");
    for _ in 0..LOOKS {
        let members = members(group, DEEPEST, path)?;
        if members.is_empty() {
            return remove_below(group, DEEPEST, path);
        }
        // No signal reaches a member without a number here: waiting would not help.
        if !all_at_once && members.iter().all(|&member| member == FOREIGN) {
            return Err(Error::Unsupported(format!(
                "processes in {} are in another PID namespace, from which they cannot be killed",
                path.display()
            )));
        }
        for member in members.into_iter().filter(|&member| member != FOREIGN) {
            let _gone_already = send_signal(member, libc::SIGKILL);
        }
        thread::sleep(LOOK);
    }
    Err(Error::Unsupported(format!("processes in {} do not end when killed", path.display())))
}

fn write(group: impl AsFd, name: &str) -> Result<(), Errno> {
    let file = openat(group, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, b"1").map(drop)
}

/// The processes of a group and of the groups below it. A group that is removed
/// meanwhile has none.
fn members(group: impl AsFd, depth: u32, path: &Path) -> Result<Vec<u32>> {
    let group = group.as_fd();
    let mut members = Vec::new();
    let opened = openat(group, "cgroup.procs", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let mut text = String::new();
    match opened {
        Ok(file) => {
            let read = File::from(file).take(LARGEST_LIST).read_to_string(&mut text);
            match read {
                // A threaded group's processes are in the one above.
                Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                Err(error) => return Err(Error::file("read", path.join("cgroup.procs"), error)),
                Ok(_) => {}
            }
        }
        Err(Errno::NOENT | Errno::NODEV) => {}
        Err(error) => return Err(Error::file("open", path.join("cgroup.procs"), error.into())),
    }
    members.extend(text.lines().filter_map(|line| line.trim().parse::<u32>().ok()));
    for (_, below) in below(group, depth, path)? {
        members.extend(self::members(&below, depth.saturating_sub(1), path)?);
    }
    Ok(members)
}

/// Removes the groups below, which have no members left.
fn remove_below(group: impl AsFd, depth: u32, path: &Path) -> Result<()> {
    let group = group.as_fd();
    for (name, below) in below(group, depth, path)? {
        remove_below(&below, depth.saturating_sub(1), path)?;
        match unlinkat(group, name.as_str(), AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(Error::file("remove", path.join(name), error.into())),
        }
    }
    Ok(())
}

fn below(group: impl AsFd, depth: u32, path: &Path) -> Result<Vec<(String, OwnedFd)>> {
    let error = |error: Errno| Error::file("list", path, error.into());
    let mut found = Vec::new();
    if depth == 0 {
        return Ok(found);
    }
    let group = group.as_fd();
    for entry in Dir::read_from(group).map_err(error)? {
        let entry = entry.map_err(error)?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        if entry.file_type() == FileType::Directory && !matches!(name, "." | "..") {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat(group, name, flags, Mode::empty()) {
                Ok(opened) => found.push((name.to_owned(), opened)),
                Err(Errno::NOENT) => {}
                Err(source) => return Err(error(source)),
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn group(top: &Path, name: &str, members: &str) {
        fs::create_dir_all(top.join(name)).unwrap();
        fs::write(top.join(name).join("cgroup.procs"), members).unwrap();
    }

    #[test]
    fn members_are_those_of_all_groups_below() {
        let top = tempfile::tempdir().unwrap();
        group(top.path(), "a", "7\n8\n");
        group(top.path(), "a/b/c", "9\n");
        // A member in another PID namespace is listed as 0, which would be us.
        group(top.path(), "a/d", "0\n10\n");
        let dir = File::open(top.path().join("a")).unwrap();
        let mut found = members(&dir, DEEPEST, top.path()).unwrap();
        found.sort_unstable();
        assert_eq!(found, [0, 7, 8, 9, 10]);
        assert!(send_signal(0, libc::SIGKILL).is_err(), "0 is not a process");
    }

    #[test]
    fn members_without_a_number_are_not_waited_for() {
        let top = tempfile::tempdir().unwrap();
        group(top.path(), "a", "0\n0\n");
        let dir = File::open(top.path().join("a")).unwrap();
        let error = kill_members(&dir, top.path()).unwrap_err().to_string();
        assert!(error.contains("are in another PID namespace"), "{error}");
    }

    #[test]
    fn a_process_does_not_kill_itself() {
        let top = tempfile::tempdir().unwrap();
        group(top.path(), "a", "");
        group(top.path(), "a/b", &format!("{}\n", std::process::id()));
        let dir = File::open(top.path().join("a")).unwrap();
        let error = kill_members(&dir, top.path()).unwrap_err().to_string();
        assert!(error.starts_with("this process is in "), "{error}");
    }
}
