//! The position of a file on its device: `FS_IOC_FIEMAP`,
//! `Documentation/filesystems/fiemap.rst`.

use std::fs::File;
use std::path::Path;

use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};

use crate::error::{Error, Result};
use crate::root::Root;
use crate::support::Support;

/// Extents requested at once.
const BATCH: usize = 256;
/// The most extents of a file that is usable for swap.
const MOST: usize = 1 << 20;

/// `FIEMAP_EXTENT_LAST`.
const LAST: u32 = 0x1;
/// `FIEMAP_EXTENT_UNKNOWN`, `_DELALLOC`, `_ENCODED`, `_DATA_INLINE`,
/// `_DATA_TAIL`: the position on the device is unknown, or shared with other
/// data.
const NOWHERE: u32 = 0x2 | 0x4 | 0x8 | 0x200 | 0x400;

/// A contiguous piece of a file on its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The offset in the file, in bytes.
    pub logical: u64,
    /// The offset on the file system's device, in bytes.
    pub physical: u64,
    /// The length in bytes.
    pub length: u64,
}

/// `struct fiemap` with room for extents.
#[repr(C)]
struct Map {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [RawExtent; BATCH],
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved_64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// `FS_IOC_FIEMAP`, whose number counts `struct fiemap` without extents.
const FIEMAP: Opcode = opcode::read_write::<[u64; 4]>(b'f', 11);

/// The extents of `file`, in order; `No` if the file system does not report
/// them, or does not store the file in plain extents.
///
/// # Errors
/// `File` if it cannot be opened.
pub fn of(root: &Root, file: &Path) -> Result<Support<Vec<Extent>>> {
    let failed = |source| Error::file("find the extents of", file, source);
    let open = File::open(root.resolve(file)).map_err(failed)?;
    let mut extents = Vec::new();
    let mut start = 0;
    loop {
        let none = RawExtent {
            logical: 0,
            physical: 0,
            length: 0,
            reserved_64: [0; 2],
            flags: 0,
            reserved: [0; 3],
        };
        let mut map = Map {
            start,
            length: u64::MAX - start,
            flags: 0,
            mapped: 0,
            count: BATCH as u32,
            reserved: 0,
            extents: [none; BATCH],
        };
        // SAFETY: ioctl_fiemap (fiemap.rst): the kernel reads the head and
        // writes at most `count` extents behind it, which are there; any
        // bytes are a `Map`.
        match unsafe { ioctl(&open, Updater::<FIEMAP, Map>::new(&mut map)) } {
            Ok(()) => {}
            Err(Errno::OPNOTSUPP | Errno::NOTTY) => {
                return Ok(Support::no("its file system does not report extents (FIEMAP)"));
            }
            Err(error) => return Err(failed(error.into())),
        }
        let mapped = map.extents.get(..map.mapped as usize).unwrap_or(&map.extents);
        for raw in mapped {
            if raw.flags & NOWHERE != 0 || extents.len() == MOST {
                return Ok(Support::no("it is not stored in plain extents"));
            }
            let RawExtent { logical, physical, length, .. } = *raw;
            extents.push(Extent { logical, physical, length });
        }
        match mapped.last() {
            Some(last) if last.flags & LAST == 0 && last.logical + last.length > start => {
                start = last.logical + last.length;
            }
            _ => return Ok(Support::Yes(extents)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn the_request_has_the_kernels_number_and_layout() {
        // `FS_IOC_FIEMAP` of include/uapi/linux/fs.h on architectures with
        // the generic encoding.
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        assert_eq!(FIEMAP, 0xc020_660b);
        assert_eq!(size_of::<RawExtent>(), 56);
        assert_eq!(std::mem::offset_of!(Map, extents), 32);
    }

    #[test]
    fn extents_cover_a_file_if_its_file_system_reports_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut file = File::create(&path).unwrap();
        file.write_all(&vec![1; 100_000]).unwrap();
        file.sync_all().unwrap();
        // tmpfs does not report them.
        let Support::Yes(extents) = of(&Root::system(), &path).unwrap() else { return };
        assert_eq!(extents.first().map(|extent| extent.logical), Some(0));
        let total: u64 = extents.iter().map(|extent| extent.length).sum();
        assert!((100_000..200_000).contains(&total), "{extents:?}");
    }
}
