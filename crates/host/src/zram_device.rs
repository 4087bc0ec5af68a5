//! Adding, setting up and removing zram devices:
//! `Documentation/admin-guide/blockdev/zram.rst`.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::memory::page_size;
use crate::root::Root;
use crate::support::Support;
use crate::swap_header::{LABEL_AT, Label, header};
use unjank_units::Bytes;

const CONTROL: &str = "/sys/class/zram-control";
/// The volume label of a device that unjank has set up.
const LABEL: &Label = b"unjank zram\0\0\0\0\0";
/// How long the device node may take to appear.
const NODE_TIMEOUT: Duration = Duration::from_secs(2);

/// Adds a device without a size, and returns its number; `No` if the kernel cannot.
///
/// # Errors
/// `Permission`; the kernel's error.
pub fn add(root: &Root) -> Result<Support<u32>> {
    let path = format!("{CONTROL}/hot_add");
    if !root.exists(&path) {
        return Ok(Support::no(format!(
            "no {path}: the kernel has no zram, its module is not loaded (modprobe zram), or it is \
             older than Linux 4.2"
        )));
    }
    root.read_number(&path).map(Support::Yes)
}

/// The algorithms that the kernel's zram can compress with; `No` if it has none.
///
/// # Errors
/// `Permission` if a device has to be added to look at; the kernel's error.
pub fn available_algorithms(root: &Root) -> Result<Support<Vec<String>>> {
    for name in root.list("/sys/block")? {
        if let Some(number) = number(&Path::new("/dev").join(name)) {
            return algorithms(root, number).map(Support::Yes);
        }
    }
    Ok(match add(root)? {
        Support::Yes(number) => {
            let found = algorithms(root, number);
            let began = Instant::now();
            // Whoever is told of new devices may have it open for a moment.
            while let Err(error) = remove(root, number) {
                if began.elapsed() > NODE_TIMEOUT {
                    return Err(error);
                }
                thread::sleep(Duration::from_millis(5));
            }
            Support::Yes(found?)
        }
        Support::No(reason) => Support::No(reason),
    })
}

/// Removes a device, with its content.
///
/// # Errors
/// `Busy` while it is open or swapped to; the kernel's error.
pub(crate) fn remove(root: &Root, number: u32) -> Result<()> {
    // Only reset tells why; a device without a size has nothing to reset.
    if size(root, number)?.is_some_and(|size| size > Bytes(0)) {
        root.write(file(number, "reset"), "1")?;
    }
    root.write(format!("{CONTROL}/hot_remove"), &number.to_string())
}

/// The algorithms that a device can compress with.
///
/// # Errors
/// Its file cannot be read.
fn algorithms(root: &Root, number: u32) -> Result<Vec<String>> {
    let text = root.read_if_there(file(number, "comp_algorithm"))?.unwrap_or_default();
    Ok(text.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned()).collect())
}

/// The size of a device; `None` if there is no such device.
pub(crate) fn size(root: &Root, number: u32) -> Result<Option<Bytes>> {
    Ok(root.read_number_if_there::<u64>(file(number, "disksize"))?.map(Bytes))
}

/// Gives a device that [`add`] has returned its algorithm, its size, a `backing` device for cold
/// pages if there is one, and the header of an empty swap area with unjank's label.
///
/// # Errors
/// `Invalid` for an unknown algorithm; the kernel's error.
pub(crate) fn set_up(
    root: &Root,
    number: u32,
    algorithm: &str,
    size: Bytes,
    backing: Option<&Path>,
) -> Result<()> {
    let page = page_size().get();
    root.write(file(number, "comp_algorithm"), algorithm)?;
    if let Some(backing) = backing {
        root.write(file(number, "backing_dev"), &backing.display().to_string())?;
    }
    root.write(file(number, "disksize"), &size.get().to_string())?;
    let path = node(root, number)?;
    let written = OpenOptions::new().write(true).open(&path).and_then(|device| {
        device.write_all_at(&header(size.get() / page, page, LABEL), 0)?;
        device.sync_all()
    });
    written.map_err(|source| Error::file("write", &path, source))
}

/// Whether unjank has set this device up.
///
/// # Errors
/// The device cannot be read.
pub(crate) fn is_ours(root: &Root, number: u32) -> Result<bool> {
    let path = node(root, number)?;
    let mut label = [0; LABEL.len()];
    File::open(&path)
        .and_then(|mut device| {
            device.seek(SeekFrom::Start(LABEL_AT as u64))?;
            device.read_exact(&mut label)
        })
        .map_err(|source| Error::file("read", &path, source))?;
    Ok(label == *LABEL)
}

/// Whether the first page of this device is all zeros.
///
/// # Errors
/// The device cannot be read.
pub(crate) fn is_blank(root: &Root, number: u32) -> Result<bool> {
    let path = node(root, number)?;
    let mut page = vec![0; page_size().get() as usize];
    File::open(&path)
        .and_then(|device| device.read_exact_at(&mut page, 0))
        .map_err(|source| Error::file("read", &path, source))?;
    Ok(page.iter().all(|byte| *byte == 0))
}

/// The number in `/dev/zram2` or `/dev/block/zram2`.
pub(crate) fn number(path: &Path) -> Option<u32> {
    let name = path.to_str()?;
    let name =
        ["/dev/block/zram", "/dev/zram"].iter().find_map(|start| name.strip_prefix(start))?;
    let is_plain =
        name == "0" || !name.starts_with('0') && name.bytes().all(|c| c.is_ascii_digit());
    is_plain.then(|| name.parse().ok()).flatten()
}

/// The device node, once it is there: Android's are in `/dev/block`.
pub(crate) fn node(root: &Root, number: u32) -> Result<PathBuf> {
    let nodes = [format!("/dev/zram{number}"), format!("/dev/block/zram{number}")];
    let began = Instant::now();
    loop {
        if let Some(node) = nodes.iter().map(|node| root.resolve(node)).find(|node| node.exists()) {
            return Ok(node);
        }
        if began.elapsed() > NODE_TIMEOUT {
            let source = std::io::ErrorKind::NotFound.into();
            return Err(Error::file("find", &nodes[0], source));
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn file(number: u32, name: &str) -> String {
    format!("/sys/block/zram{number}/{name}")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_paths_of_zram_devices_have_a_number() {
        for (path, expected) in [
            ("/dev/zram0", Some(0)),
            ("/dev/block/zram12", Some(12)),
            ("/dev/zram", None),
            ("/dev/zram01", None),
            ("/dev/zram1p1", None),
            ("/dev/zram+1", None),
            ("/dev/../dev/zram1", None),
            ("/dev/sda1", None),
        ] {
            assert_eq!(number(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn all_algorithms_are_listed() {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        assert!(algorithms(&root, 3).unwrap().is_empty(), "a kernel with only one");
        fs::create_dir_all(top.path().join("sys/block/zram3")).unwrap();
        let text = "lzo-rle lzo [lz4] zstd \n";
        fs::write(top.path().join("sys/block/zram3/comp_algorithm"), text).unwrap();
        assert_eq!(algorithms(&root, 3).unwrap(), ["lzo-rle", "lzo", "lz4", "zstd"]);
        let none = add(&root).unwrap();
        assert!(none.reason().unwrap().starts_with("no /sys/class/zram-control/hot_add"));
    }
}
