//! Sealed memory that two processes share: `memfd_create(2)`.
//!
//! The size is sealed, and the receiver of the memory checks the seal: if a peer
//! could shrink it, this process would be killed by SIGBUS. Memory on huge pages
//! is refused for the same reason: after punching a hole, the pool may have no
//! page left. All other files are refused too: reading one on a peer's own file
//! system could block for ever.

use std::os::fd::{AsFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs, ftruncate,
    memfd_create,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::error::{Error, Result};

/// The file system of a memfd without huge pages (`statfs(2)`).
const TMPFS_MAGIC: i64 = 0x0102_1994;

fn seals() -> SealFlags {
    SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL
}

/// Memory mapped from a sealed file. Unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: *mut u8,
    length: usize,
}

// SAFETY: the mapping belongs to this value; all access to it is atomic or
// through raw pointers whose users state their own conditions.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Creates zeroed memory, and the descriptor with which another process maps
    /// it.
    pub(crate) fn create(name: &str, length: usize) -> Result<(Self, OwnedFd)> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = memfd_create(name, flags).map_err(Error::request("memfd_create"))?;
        ftruncate(&fd, length as u64).map_err(Error::request("ftruncate"))?;
        fcntl_add_seals(&fd, seals()).map_err(Error::request("fcntl(F_ADD_SEALS)"))?;
        Ok((Self::map(&fd, length)?, fd))
    }

    /// Maps a peer's memory after checking that it was made like that of
    /// [`create`](Self::create) and is between `least` and `most` bytes long.
    pub(crate) fn open(fd: impl AsFd, least: usize, most: usize) -> Result<Self> {
        let refuse = |what| Err(Error::NotAChannel { what });
        let Ok(found) = fcntl_get_seals(&fd) else {
            return refuse("a descriptor is not memory that can be sealed");
        };
        if !found.contains(seals()) {
            return refuse("its memory is not sealed");
        }
        let system = fstatfs(&fd).map_err(Error::request("fstatfs"))?;
        // The type of this field differs between architectures.
        if system.f_type as i64 != TMPFS_MAGIC {
            return refuse("its memory is not on plain pages");
        }
        let size = fstat(&fd).map_err(Error::request("fstat"))?.st_size;
        match usize::try_from(size) {
            Ok(length) if (least..=most).contains(&length) => Self::map(&fd, length),
            _ => refuse("its memory has a wrong size"),
        }
    }

    fn map(fd: impl AsFd, length: usize) -> Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // Populated, so that no call waits for a page fault.
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address that the kernel selects overlaps
        // nothing; it lies within the file, whose size is sealed (mmap(2)).
        let start = unsafe { mmap(ptr::null_mut(), length, protection, flags, fd, 0) };
        Ok(Self { start: start.map_err(Error::request("mmap"))?.cast(), length })
    }

    /// Size in bytes.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// The 32-bit word at `position`, a multiple of four.
    #[inline]
    pub(crate) fn word(&self, position: usize) -> &AtomicU32 {
        assert!(position.is_multiple_of(4) && position < self.length - 3, "no word at {position}");
        // SAFETY: the word lies in the mapping, which lives as long as the
        // reference, and is aligned: mappings begin at a page. This process only
        // accesses it atomically.
        unsafe { AtomicU32::from_ptr(self.start.add(position).cast()) }
    }

    /// The first 64-bit word.
    pub(crate) fn first(&self) -> &AtomicU64 {
        assert!(self.length >= 8, "no room for a magic number");
        // SAFETY: as in `word`.
        unsafe { AtomicU64::from_ptr(self.start.cast()) }
    }

    /// The address of `length` bytes at `position`.
    #[inline]
    pub(crate) fn bytes(&self, position: usize, length: usize) -> *mut u8 {
        assert!(
            position <= self.length && length <= self.length - position,
            "no {length} bytes at {position}"
        );
        // SAFETY: the address lies in the mapping or at its end.
        unsafe { self.start.add(position) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by this value, and no borrow of it is left.
        // munmap(2) fails only for a bad range.
        let _cannot_fail = unsafe { munmap(self.start.cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;
    use std::sync::atomic::Ordering;

    use super::*;

    fn refused(fd: impl AsFd) -> String {
        Mapping::open(fd, 4096, 8192).unwrap_err().to_string()
    }

    #[test]
    fn two_mappings_see_the_same_memory() {
        let (ours, fd) = Mapping::create("test", 4096).unwrap();
        let theirs = Mapping::open(&fd, 4096, 4096).unwrap();
        ours.word(4092).store(7, Ordering::Release);
        assert_eq!(theirs.word(4092).load(Ordering::Acquire), 7);
        assert_eq!(theirs.length(), 4096);
    }

    #[test]
    fn its_size_cannot_be_changed() {
        let (_ours, fd) = Mapping::create("test", 4096).unwrap();
        assert!(ftruncate(&fd, 0).is_err());
        assert!(ftruncate(&fd, 8192).is_err());
        assert!(fcntl_add_seals(&fd, SealFlags::WRITE).is_err(), "seals are sealed too");
    }

    #[test]
    fn a_file_that_is_not_sealed_memory_is_refused() {
        let (reader, _writer) = std::io::pipe().unwrap();
        assert!(refused(&reader).ends_with("not memory that can be sealed"));
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[0; 4096]).unwrap();
        let on_disk = refused(&file);
        assert!(on_disk.ends_with("sealed"), "{on_disk}");
        assert!(refused(File::open("/dev/zero").unwrap()).ends_with("sealed"));
        let flags = MemfdFlags::ALLOW_SEALING;
        let open = memfd_create("open", flags).unwrap();
        ftruncate(&open, 4096).unwrap();
        assert!(refused(&open).ends_with("its memory is not sealed"));
        fcntl_add_seals(&open, SealFlags::GROW | SealFlags::SEAL).unwrap();
        assert!(refused(&open).ends_with("its memory is not sealed"), "it can shrink");
    }

    #[test]
    fn memory_of_another_size_is_refused() {
        for length in [0, 4095, 8193] {
            let flags = MemfdFlags::ALLOW_SEALING;
            let fd = memfd_create("size", flags).unwrap();
            ftruncate(&fd, length).unwrap();
            fcntl_add_seals(&fd, seals()).unwrap();
            assert!(refused(&fd).ends_with("a wrong size"), "{length}");
        }
    }

    #[test]
    fn huge_pages_are_refused() {
        let flags = MemfdFlags::ALLOW_SEALING | MemfdFlags::HUGETLB;
        // A kernel without huge pages has nothing to refuse.
        let Ok(fd) = memfd_create("huge", flags) else { return };
        fcntl_add_seals(&fd, seals()).unwrap();
        assert!(refused(&fd).ends_with("not on plain pages"));
    }

    #[test]
    #[should_panic(expected = "no word at 4096")]
    fn there_is_no_word_beyond_the_end() {
        Mapping::create("test", 4096).unwrap().0.word(4096);
    }
}
