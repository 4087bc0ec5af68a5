//! The disk of a phone: a file with an empty file system.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::Command;

use unjank_host::{Bytes, Error as HostError};

use crate::error::Result;

/// A program of e2fsprogs, and where it is if not in `PATH`.
const PROGRAMS: [&str; 3] = ["mke2fs", "/sbin/mke2fs", "/usr/sbin/mke2fs"];

/// Makes a file of `size` with an ext4 file system without a journal. Room is taken as it is used.
pub(super) fn make(path: &Path, size: Bytes) -> Result<()> {
    File::create(path)
        .and_then(|file| file.set_len(size.get()))
        .map_err(|error| HostError::file("write", path, error))?;
    for program in PROGRAMS {
        let mut command = Command::new(program);
        command.args(["-t", "ext4", "-q", "-F", "-m", "0", "-O", "^has_journal"]).arg(path);
        match command.output() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(HostError::file("start", program, error).into()),
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                return Err(
                    HostError::Unsupported(format!("{program} made no disk: {said}")).into()
                );
            }
        }
    }
    let missing = "mke2fs is missing, for the phone's disk: install e2fsprogs".to_owned();
    Err(HostError::Unsupported(missing).into())
}
