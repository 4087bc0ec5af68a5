//! Block devices by their numbers: `sysfs-block` of `Documentation/ABI`.

use std::fmt;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::root::Root;

/// Bits of the minor number in the kernel's own encoding: `MINORBITS` of
/// `include/linux/kdev_t.h`.
const MINOR_BITS: u32 = 20;

/// The number of a block device in the kernel's own encoding, as in its trace
/// events: the major number above 20 bits of minor number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DeviceNumber(pub u32);

impl DeviceNumber {
    /// The number with this major and minor part.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self(major << MINOR_BITS | minor & ((1 << MINOR_BITS) - 1))
    }

    /// The major number; 0 for file systems without a device.
    pub const fn major(self) -> u32 {
        self.0 >> MINOR_BITS
    }

    /// The minor number, below 2²⁰.
    pub const fn minor(self) -> u32 {
        self.0 & ((1 << MINOR_BITS) - 1)
    }

    /// The number as `stat(2)` has it.
    pub fn to_stat(self) -> u64 {
        rustix::fs::makedev(self.major(), self.minor())
    }

    /// Converts a device number of `stat(2)`.
    pub(crate) fn from_stat(device: u64) -> Self {
        Self::new(rustix::fs::major(device), rustix::fs::minor(device))
    }
}

/// `254,0`, as the kernel's trace events print it.
impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.major(), self.minor())
    }
}

/// A block device, or a partition as a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Number of the whole device.
    pub device: DeviceNumber,
    /// The kernel's name of the whole device: `sda`, `zram0`.
    pub name: String,
    /// First sector on the device, in units of 512 bytes.
    pub start: u64,
    /// Length in sectors of 512 bytes.
    pub sectors: u64,
}

/// The number of the device that a special file stands for; for any other file,
/// that of its file system.
///
/// # Errors
/// `File` if it does not exist.
pub fn number_of(root: &Root, path: &Path) -> Result<DeviceNumber> {
    let real = root.resolve(path);
    let metadata =
        real.metadata().map_err(|source| Error::file("read the metadata of", path, source))?;
    let is_device = metadata.file_type().is_block_device();
    Ok(DeviceNumber::from_stat(if is_device { metadata.rdev() } else { metadata.dev() }))
}

/// The description of a device in sysfs; `None` if there is no such block
/// device.
///
/// # Errors
/// `Parse` for a file that does not hold a number.
pub fn part(root: &Root, number: DeviceNumber) -> Result<Option<Part>> {
    let directory = PathBuf::from(format!("/sys/dev/block/{}:{}", number.major(), number.minor()));
    let value = |name: &str| -> Result<Option<u64>> {
        let path = directory.join(name);
        let Some(text) = root.read_if_there(&path)? else { return Ok(None) };
        let number = text.trim().parse();
        number.map(Some).map_err(|_| Error::parse(path, 1, "expected a number of sectors"))
    };
    let Some(sectors) = value("size")? else { return Ok(None) };
    let is_partition = root.exists(directory.join("partition"));
    let start = if is_partition { value("start")?.unwrap_or(0) } else { 0 };
    // A partition's directory is inside that of its device, to which the link
    // leads.
    let whole = if is_partition { parent(root, &directory) } else { Some(directory) };
    let Some(whole) = whole else { return Ok(None) };
    let event = root.read_if_there(whole.join("uevent"))?.unwrap_or_default();
    let says = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
    let (major, minor) = (says("MAJOR="), says("MINOR="));
    let (Some(Ok(major)), Some(Ok(minor))) = (major.map(str::parse), minor.map(str::parse)) else {
        return Ok(None);
    };
    let device = DeviceNumber::new(major, minor);
    let name = says("DEVNAME=").map_or_else(|| device.to_string(), str::to_owned);
    Ok(Some(Part { device, name, start, sectors }))
}

/// The parent of the directory behind a link.
fn parent(root: &Root, link: &Path) -> Option<PathBuf> {
    let real = root.resolve(link).canonicalize().ok()?;
    let top = root.dir().canonicalize().ok()?;
    Some(Path::new("/").join(real.parent()?.strip_prefix(top).ok()?))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_number_has_the_kernels_form() {
        let number = DeviceNumber::new(254, 3);
        assert_eq!((number.0, number.major(), number.minor()), (254 << 20 | 3, 254, 3));
        assert_eq!(number.to_string(), "254,3");
    }

    #[test]
    fn a_partition_is_a_part_of_its_device() {
        let top = tempfile::tempdir().unwrap();
        let sda = top.path().join("sys/devices/sda");
        fs::create_dir_all(sda.join("sda2")).unwrap();
        fs::create_dir_all(top.path().join("sys/dev/block")).unwrap();
        fs::write(sda.join("size"), "1000000\n").unwrap();
        fs::write(sda.join("uevent"), "MAJOR=8\nMINOR=0\nDEVNAME=sda\nDEVTYPE=disk\n").unwrap();
        for (name, value) in [("size", "4096\n"), ("start", "2048\n"), ("partition", "2\n")] {
            fs::write(sda.join("sda2").join(name), value).unwrap();
        }
        for (number, target) in [("8:0", "sda"), ("8:2", "sda/sda2")] {
            let link = top.path().join("sys/dev/block").join(number);
            symlink(format!("../../devices/{target}"), link).unwrap();
        }
        let root = Root::at(top.path());
        let device = DeviceNumber::new(8, 0);
        let whole = Part { device, name: "sda".to_owned(), start: 0, sectors: 1_000_000 };
        assert_eq!(part(&root, device).unwrap(), Some(whole.clone()));
        let second = Part { start: 2048, sectors: 4096, ..whole };
        assert_eq!(part(&root, DeviceNumber::new(8, 2)).unwrap(), Some(second));
        assert_eq!(part(&root, DeviceNumber::new(0, 44)).unwrap(), None, "no device of its own");
        fs::write(sda.join("size"), "many\n").unwrap();
        let error = part(&root, device).unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot parse /sys/dev/block/8:0/size, line 1: expected a number of sectors"
        );
    }
}
