//! The memory mappings of another process: `/proc/PID/maps`.

mod futex;
mod mapped_file;
mod region;

pub use futex::FutexId;
pub(crate) use mapped_file::MappedFile;
pub use region::Region;

use std::fs::File;

use crate::error::Result;
use crate::process::bounded_read;
use crate::root::Root;

/// The memory map of a process at one moment.
#[derive(Debug, Clone, Default)]
pub struct AddressSpace {
    process: u32,
    /// Sorted by address.
    regions: Vec<Region>,
}

impl AddressSpace {
    /// The current mappings of `process`.
    ///
    /// # Errors
    /// `File` without the permission (`ptrace(2)`, access mode
    /// `PTRACE_MODE_READ_FSCREDS`), or if the process has ended.
    pub fn of(root: &Root, process: u32) -> Result<Self> {
        Ok(Self::parse(process, &root.read(format!("/proc/{process}/maps"))?))
    }

    /// Parses the text of the file; malformed lines are skipped.
    pub(crate) fn parse(process: u32, text: &str) -> Self {
        let mut regions: Vec<Region> = text.lines().filter_map(Region::parse).collect();
        regions.sort_by_key(|region| region.start);
        Self { process, regions }
    }

    /// The process's id.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// All regions, sorted by address.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The region that holds this address.
    pub fn region(&self, address: u64) -> Option<&Region> {
        let after = self.regions.partition_point(|region| region.start <= address);
        self.regions[..after].last().filter(|region| address < region.end)
    }

    /// Reads `length` bytes from `address` on; `None` without the permission
    /// (`ptrace(2)`, access mode `PTRACE_MODE_ATTACH_FSCREDS`), if nothing is
    /// mapped there, or if its owner has the kernel wait for the content.
    pub fn bytes(&self, root: &Root, address: u64, length: usize) -> Option<Vec<u8>> {
        let memory = File::open(root.resolve(format!("/proc/{}/mem", self.process))).ok()?;
        bounded_read::read(&memory, address, length).filter(|bytes| bytes.len() == length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_lies_in_one_region_or_none() {
        let space = AddressSpace::parse(7, "30-40 rw-p 0 00:00 0\nx\n10-20 r-xp 0 00:00 0 /a\n");
        assert_eq!((space.process(), space.regions().len()), (7, 2));
        let at = |address| space.region(address).map(|region| region.start);
        assert_eq!(
            [0xf, 0x10, 0x1f, 0x20, 0x30, 0x40].map(at),
            [None, Some(0x10), Some(0x10), None, Some(0x30), None]
        );
    }

    #[test]
    fn memory_of_this_process_is_read() {
        let (root, bytes) = (Root::system(), [7_u8; 32]);
        let space = AddressSpace::of(&root, std::process::id()).unwrap();
        assert_eq!(space.bytes(&root, bytes.as_ptr() as u64, 32), Some(bytes.to_vec()));
        assert_eq!(space.bytes(&root, 0, 1), None);
        assert!(AddressSpace::of(&root, u32::MAX).is_err());
    }
}
