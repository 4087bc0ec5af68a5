//! Processes that come to the foreground: Android moves them into the cpuset (or
//! control group) of the top app. `inotify(7)` reports writes to a control group's
//! file.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use unjank_host::inotify::Watch;
use unjank_host::{Result, Root, Timestamp};

/// A watch on the lists of foreground processes.
#[derive(Debug)]
pub struct Foreground {
    root: Root,
    watch: Watch,
    lists: Vec<PathBuf>,
    known: BTreeSet<u32>,
}

impl Foreground {
    /// Watches `lists`, files such as `/dev/cpuset/top-app/cgroup.procs`.
    /// Processes that are listed already are not launches.
    ///
    /// # Errors
    /// `File` for a list that cannot be watched or read.
    pub fn watch(root: &Root, lists: &[PathBuf]) -> Result<Self> {
        let mut watch = Watch::new()?;
        for list in lists {
            watch.add_writes(root, list)?;
        }
        let mut foreground =
            Self { root: root.clone(), watch, lists: lists.to_vec(), known: BTreeSet::new() };
        foreground.known = foreground.list()?;
        Ok(foreground)
    }

    /// Calls `each` with the processes that have come to the foreground since the
    /// last time, without waiting.
    ///
    /// # Errors
    /// `File` for a list that cannot be read any more.
    pub fn read(&mut self, mut each: impl FnMut(u32, Timestamp)) -> Result<()> {
        if !self.watch.quiet() {
            return Ok(());
        }
        let now = Timestamp::now();
        let in_foreground = self.list()?;
        in_foreground.difference(&self.known).for_each(|&process| each(process, now));
        self.known = in_foreground;
        Ok(())
    }

    fn list(&self) -> Result<BTreeSet<u32>> {
        let mut all = BTreeSet::new();
        for list in &self.lists {
            all.extend(processes(&self.root, list)?);
        }
        Ok(all)
    }
}

fn processes(root: &Root, list: &Path) -> Result<Vec<u32>> {
    Ok(root.read(list)?.lines().filter_map(|line| line.trim().parse().ok()).collect())
}

impl AsFd for Foreground {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_process_that_comes_to_the_foreground_is_reported_once() {
        let dir = tempfile::tempdir().unwrap();
        let list = PathBuf::from("/dev/cpuset/top-app/cgroup.procs");
        let file = dir.path().join("dev/cpuset/top-app/cgroup.procs");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "7\n").unwrap();
        let mut foreground = Foreground::watch(&Root::at(dir.path()), &[list]).unwrap();
        let mut come: Vec<u32> = Vec::new();
        foreground.read(|process, _| come.push(process)).unwrap();
        assert!(come.is_empty(), "it was there before");
        fs::write(&file, "7\n8\n9\n").unwrap();
        foreground.read(|process, _| come.push(process)).unwrap();
        foreground.read(|process, _| come.push(process)).unwrap();
        assert_eq!(come, [8, 9]);
        // To the background, and to the foreground again.
        for list in ["7\n", "7\n9\n"] {
            fs::write(&file, list).unwrap();
            foreground.read(|process, _| come.push(process)).unwrap();
        }
        assert_eq!(come, [8, 9, 9]);
    }

    #[test]
    fn a_list_that_is_not_there_is_named() {
        let root = Root::at("/nowhere");
        let error = Foreground::watch(&root, &[PathBuf::from("/dev/cpuset/x")]).unwrap_err();
        assert!(error.to_string().contains("/dev/cpuset/x"), "{error}");
    }
}
