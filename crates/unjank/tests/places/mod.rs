//! A directory of another user, who plants links and pipes there, and a file of root.

// No test file uses all of it.
#![allow(dead_code)]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use super::boosted::{NOBODY, unjank};

/// A directory that belongs to nobody, and a file of root.
pub(crate) struct Places {
    pub(crate) dir: TempDir,
}

impl Places {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        fs::write(dir.path().join("secret"), "of root").unwrap();
        fs::create_dir(dir.path().join("theirs")).unwrap();
        chown(dir.path().join("theirs"), Some(NOBODY), Some(NOBODY)).unwrap();
        Self { dir }
    }

    pub(crate) fn secret(&self) -> PathBuf {
        self.dir.path().join("secret")
    }

    pub(crate) fn theirs(&self, name: &str) -> PathBuf {
        self.dir.path().join("theirs").join(name)
    }

    /// A link to root's file, which belongs to nobody.
    pub(crate) fn plant_link(&self, name: &str) {
        symlink(self.secret(), self.theirs(name)).unwrap();
        lchown(self.theirs(name), Some(NOBODY), Some(NOBODY)).unwrap();
    }

    pub(crate) fn plant_pipe(&self, name: &str) {
        let made = Command::new("mkfifo").arg(self.theirs(name)).status().unwrap();
        assert!(made.success());
        chown(self.theirs(name), Some(NOBODY), Some(NOBODY)).unwrap();
    }

    pub(crate) fn check_secret(&self) {
        assert_eq!(fs::read_to_string(self.secret()).unwrap(), "of root");
        assert_eq!(self.secret().metadata().unwrap().uid(), 0);
    }

    /// Files in nobody's directory with the prefix of unjank's temporary files.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let all = fs::read_dir(self.theirs("")).unwrap();
        let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(".unjank-")).collect()
    }
}

pub(crate) fn run(arguments: &[&str], last: &Path) -> Output {
    Command::new(unjank()).args(arguments).arg(last).output().unwrap()
}
