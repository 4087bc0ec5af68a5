//! A temporary swap area.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::files::UnnamedPlace;
use crate::journal::{Session, SwapArea};
use crate::loop_device::LoopDevice;
use crate::memory::page_size;
use crate::root::Root;
use crate::support::Support;
use crate::swap_header::{LABEL_AT, Label, header};
use unjank_units::Bytes;

/// The allowed sizes in bytes: less is useless for swap, more is not worth the
/// disk space for a while.
const SIZES: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 40;

/// The volume label that identifies such an area.
pub(crate) const LABEL: &Label = b"unjank temporary";

/// A swap area of `size` on the file system of `directory`, preferred to all
/// others, until the guard is dropped. It is on a loop device over an unnamed
/// file, so that nothing remains, however this process ends, once the area is
/// off; the session's journal ensures that. `No` if the kernel or the file
/// system does not support it. Root follows no link of another user to the
/// directory.
///
/// # Errors
/// `Invalid` for a wrong size or a missing directory; `File` for one without space;
/// `Permission` for a link that belongs to another user; the kernel's error.
pub fn make(session: &Session, directory: &Path, size: Bytes) -> Result<Support<SwapArea>> {
    if !SIZES.contains(&size.get()) {
        return Err(Error::Invalid(format!("swap of {size} is not possible: use 1 MiB to 1 TiB")));
    }
    let page = page_size().get();
    let size = Bytes(size.get() / page * page);
    let file = match file(directory, size)? {
        Support::Yes(file) => file,
        Support::No(reason) => return Ok(Support::No(reason)),
    };
    file.write_all_at(&header(size.get() / page, page, LABEL), 0)
        .and_then(|()| file.sync_all())
        .map_err(|source| Error::file("write a file in", directory, source))?;
    let block = u32::try_from(page).unwrap_or(4096).min(4096);
    match LoopDevice::over(&file, block)? {
        Support::Yes(device) => session.swap_on(device.path()).map(Support::Yes),
        Support::No(reason) => Ok(Support::No(reason)),
    }
}

/// Whether the swap area on this device is such a temporary one, of any
/// process.
///
/// # Errors
/// If the device cannot be read.
pub fn is_one(root: &Root, device: &Path) -> Result<bool> {
    let mut label = [0; LABEL.len()];
    File::open(root.resolve(device))
        .and_then(|device| device.read_exact_at(&mut label, LABEL_AT as u64))
        .map_err(|source| Error::file("read", device, source))?;
    Ok(label == *LABEL)
}

/// An unnamed file with allocated space.
fn file(directory: &Path, size: Bytes) -> Result<Support<File>> {
    const ACTION: &str = "make swap in";
    let place = UnnamedPlace::open(directory, ACTION).map_err(Error::of_named_file)?;
    let file = match place.create()? {
        Support::Yes(file) => file,
        Support::No(reason) => return Ok(Support::No(reason)),
    };
    match fallocate(&file, FallocateFlags::empty(), 0, size.get()) {
        Ok(()) => Ok(Support::Yes(file)),
        Err(Errno::OPNOTSUPP) => Ok(Support::no(format!(
            "the file system of {} cannot allocate space (fallocate)",
            directory.display()
        ))),
        Err(source) => Err(Error::file(ACTION, directory, source.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_is_allocated_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let Support::Yes(file) = file(dir.path(), Bytes::from_mib(1)).unwrap() else { return };
        assert_eq!(file.metadata().unwrap().len(), 1 << 20);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "it has no name");
    }
}
