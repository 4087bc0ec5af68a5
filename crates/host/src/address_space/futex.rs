//! The identity of a futex behind an address of a process: `futex(2)`.

use std::fmt;

use super::AddressSpace;
use crate::waiting_call::FutexWord;

/// A futex as the kernel identifies it: a word of one process's memory, or a
/// position in a file that several processes may have mapped at different
/// addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FutexId {
    /// A word of private memory of one process.
    Private {
        /// Id of the process whose memory it is.
        process: u32,
        /// Address of the word in that process.
        address: u64,
    },
    /// A word of shared memory: mapped files, POSIX and System V shared memory,
    /// `memfd_create(2)`, and memory mapped with `MAP_SHARED` before a fork.
    Shared {
        /// Major and minor number of the file's device.
        device: (u32, u32),
        /// Inode number of the file on that device.
        inode: u64,
        /// Offset of the word in the file, in bytes.
        offset: u64,
    },
}

/// `futex 0x7f10`, or its file and offset.
impl fmt::Display for FutexId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Private { address, .. } => write!(f, "futex {address:#x}"),
            Self::Shared { device: (major, minor), inode, offset } => write!(
                f,
                "futex {offset:#x} of shared memory (file {inode} on device {major:x}:{minor:x})"
            ),
        }
    }
}

impl AddressSpace {
    /// The identity of a word of this process. Without `FUTEX_PRIVATE_FLAG`, a
    /// word in memory that is not shared is private to the process, too.
    pub fn futex(&self, word: FutexWord) -> FutexId {
        let own = FutexId::Private { process: self.process, address: word.address };
        if word.private {
            return own;
        }
        match self.region(word.address).filter(|region| region.shared && region.inode != 0) {
            Some(region) => FutexId::Shared {
                device: region.device,
                inode: region.inode,
                offset: (word.address - region.start).saturating_add(region.offset),
            },
            None => own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARED: &str = "00:01 77 /dev/zero (deleted)";

    #[test]
    fn one_offset_of_a_file_is_one_futex_wherever_it_is_mapped() {
        let one = AddressSpace::parse(1, &format!("1000-3000 rw-s 00001000 {SHARED}"));
        let other = AddressSpace::parse(2, &format!("8000-9000 rw-s 00002000 {SHARED}"));
        let word = |address| FutexWord { address, private: false };
        let id = FutexId::Shared { device: (0, 1), inode: 77, offset: 0x2010 };
        assert_eq!(one.futex(word(0x2010)), id);
        assert_eq!(other.futex(word(0x8010)), id);
        assert_eq!(id.to_string(), "futex 0x2010 of shared memory (file 77 on device 0:1)");
        assert_ne!(other.futex(word(0x8014)), id);
    }

    #[test]
    fn private_memory_makes_a_private_futex() {
        let space = AddressSpace::parse(
            1,
            &format!("1000-2000 rw-p 0 fe:00 9 /a\n3000-4000 rw-s 0 {SHARED}"),
        );
        for (address, private) in [(0x1010, false), (0x3010, true), (0x5010, false)] {
            let id = space.futex(FutexWord { address, private });
            assert_eq!(id, FutexId::Private { process: 1, address });
        }
    }
}
