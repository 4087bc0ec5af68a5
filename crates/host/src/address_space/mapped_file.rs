//! The identity of a file as the kernel reports it for mappings.

use std::fs::File;
use std::os::fd::AsFd as _;

use super::AddressSpace;
use crate::memory::{Access, Mapping};
use crate::root::Root;

/// A file by its device and inode, as `/proc/PID/maps` and the records of
/// `perf_event_open(2)` have them. Zeros are no file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct MappedFile {
    pub(crate) device: (u32, u32),
    pub(crate) inode: u64,
}

impl MappedFile {
    /// The identity of an open file. The file is mapped for it: on Btrfs and overlayfs, stat(2)
    /// reports another device than mappings have. `None` if it cannot be
    /// mapped.
    pub(crate) fn of(file: &File) -> Option<Self> {
        let mapping = Mapping::of_file(file.as_fd(), 1, Access::Normal).ok()?;
        let space = AddressSpace::of(&Root::system(), std::process::id()).ok()?;
        let region = space.region(mapping.address())?;
        Some(Self { device: region.device, inode: region.inode })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_numbers_of_its_mappings() {
        let program = MappedFile::of(&File::open("/proc/self/exe").unwrap()).unwrap();
        let space = AddressSpace::of(&Root::system(), std::process::id()).unwrap();
        let here = a_file_has_the_numbers_of_its_mappings as fn() as usize as u64;
        let region = space.region(here).unwrap();
        assert_eq!(program, MappedFile { device: region.device, inode: region.inode });
        assert_eq!(MappedFile::of(&File::open("/dev/null").unwrap()), None);
    }
}
