//! Finds the path of a file by its inode, on a file system whose file handles consist of an
//! inode number and a generation.
//!
//! Fails without root when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.
// A test may fail by panicking, also in its setup.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use unjank_host::Root;
use unjank_host::block_device::{DeviceNumber, number_of};
use unjank_host::inode::{FileId, paths_of};

fn found(file: FileId) -> Option<std::path::PathBuf> {
    paths_of(&Root::system(), &BTreeSet::from([file]), []).remove(&file)
}

#[test]
fn a_file_that_was_opened_is_found_by_its_inode_until_it_is_removed() {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // `EXT4_SUPER_MAGIC` of statfs(2), which is that of ext2 and ext3, too.
    let is_ext = rustix::fs::statfs(place).unwrap().f_type == 0xef53;
    if !unjank_needs::root() || !unjank_needs::is_there("ext4", is_ext) {
        return;
    }
    let file = tempfile::NamedTempFile::new_in(place).unwrap();
    let device = number_of(&Root::system(), file.path()).unwrap();
    let id = FileId { device, inode: file.path().metadata().unwrap().ino() };
    assert_eq!(found(id).as_deref(), Some(file.path()));
    let path = file.path().to_owned();
    file.close().unwrap();
    // Another file may have its inode now.
    assert_ne!(found(id), Some(path));
    assert_eq!(found(FileId { device: DeviceNumber::new(4095, 1), ..id }), None);
}
