//! Swap devices: `/proc/swaps`, `proc_swaps(5)`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::cgroup::unescape;
use super::reader::{line, one_line};
use crate::error::{Error, Result};
use crate::root::Root;
use unjank_units::Bytes;

const PATH: &str = "/proc/swaps";
const BLOCK: &str = "/sys/block";

/// One line of `/proc/swaps`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SwapDevice {
    /// Path of the device or file.
    pub path: String,
    /// The kind of its storage.
    pub kind: SwapKind,
    /// Size, as `/proc/swaps` reports it.
    pub size: Bytes,
    /// The part of `size` that is in use.
    pub used: Bytes,
    /// Its priority; higher ones fill first.
    pub priority: i64,
}

/// The kind of a swap device's storage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwapKind {
    /// Compressed memory.
    Zram,
    /// A partition or whole block device without moving parts, or unknown.
    #[default]
    Disk,
    /// A block device that reports itself as rotating.
    RotatingDisk,
    /// A file on a file system.
    File,
}

/// The active swap devices, highest priority first; empty on a kernel without
/// swap.
///
/// # Errors
/// `Parse` with the line.
pub fn devices(root: &Root) -> Result<Vec<SwapDevice>> {
    let Some(text) = root.read_if_there(PATH)? else { return Ok(Vec::new()) };
    let mut devices = parse(&text)?;
    for device in &mut devices {
        if device.kind != SwapKind::File {
            device.kind = kind_of_block_device(root, &device.path)?;
        }
    }
    Ok(devices)
}

/// The paths of the active swap devices and files, in the order of
/// `/proc/swaps`, which is that of the kernel's numbers for them; numbers of areas
/// that were turned off are left out. Faster than [`devices`].
///
/// # Errors
/// `Parse` with the line.
pub fn paths(root: &Root) -> Result<Vec<String>> {
    let Some(text) = root.read_if_there(PATH)? else { return Ok(Vec::new()) };
    Ok(listed(&text)?.into_iter().map(|device| device.path).collect())
}

/// The devices of the file, highest priority first.
pub(crate) fn parse(text: &str) -> Result<Vec<SwapDevice>> {
    let mut devices = listed(text)?;
    // Stable: devices of equal priority keep the order of the file.
    devices.sort_by_key(|device| std::cmp::Reverse(device.priority));
    Ok(devices)
}

/// Parses a line of headings, then for each device its path, type, size and use
/// in KiB, and priority. Blanks in the path are escaped. The kind is only file
/// or block device.
fn listed(text: &str) -> Result<Vec<SwapDevice>> {
    let device = |(number, line): (usize, &str)| {
        parse_line(line).ok_or_else(|| {
            Error::parse(PATH, number + 1, "expected a path, a type, a size, a use and a priority")
        })
    };
    text.lines().enumerate().skip(1).map(device).collect()
}

fn parse_line(line: &str) -> Option<SwapDevice> {
    let mut words = line.split_whitespace();
    let path = one_line(&unescape(words.next()?));
    let kind = match words.next()? {
        "file" => SwapKind::File,
        _ => SwapKind::Disk,
    };
    Some(SwapDevice {
        path,
        kind,
        size: Bytes::from_kib(words.next()?.parse().ok()?),
        used: Bytes::from_kib(words.next()?.parse().ok()?),
        priority: words.next()?.parse().ok()?,
    })
}

fn kind_of_block_device(root: &Root, path: &str) -> Result<SwapKind> {
    let name = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    if name.strip_prefix("zram").is_some_and(|number| number.parse::<u32>().is_ok()) {
        return Ok(SwapKind::Zram);
    }
    let Some(disk) = disk_of(root, &name)? else { return Ok(SwapKind::Disk) };
    let rotates = line(root, Path::new(BLOCK).join(disk).join("queue/rotational"))?;
    Ok(if rotates.as_deref() == Some("1") { SwapKind::RotatingDisk } else { SwapKind::Disk })
}

/// The disk that `name` is, is a partition of, or is the device mapper's name
/// for.
fn disk_of(root: &Root, name: &str) -> Result<Option<String>> {
    for disk in root.list(BLOCK)? {
        let dir = Path::new(BLOCK).join(&disk);
        let partition =
            name.starts_with(&disk) && line(root, dir.join(name).join("partition"))?.is_some();
        let mapped =
            disk.starts_with("dm-") && line(root, dir.join("dm/name"))?.as_deref() == Some(name);
        if disk == name || partition || mapped {
            return Ok(Some(disk));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::SwapKind::{Disk, RotatingDisk, Zram};
    use super::*;

    const HEADINGS: &str = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";

    #[test]
    fn the_highest_priority_comes_first() {
        let text = format!(
            "{HEADINGS}/data/swap\\040file                       file\t\t524284\t\t1024\t\t-2\n\
             /dev/block/zram0                        partition\t1048572\t\t0\t\t32767\n"
        );
        let devices = parse(&text).unwrap();
        let in_order = listed(&text).unwrap();
        assert!(in_order.iter().all(|device| devices.contains(device)));
        assert_ne!(in_order, devices, "the kernel's order is another one");
        let paths: Vec<_> = devices.iter().map(|device| device.path.as_str()).collect();
        assert_eq!(paths, ["/dev/block/zram0", "/data/swap file"]);
        assert_eq!(devices[1].kind, SwapKind::File);
        assert_eq!((devices[1].size, devices[1].used), (Bytes(524_284 << 10), Bytes::from_mib(1)));
        assert_eq!(devices[0].priority, 32_767);
    }

    #[test]
    fn malformed_lines_are_reported() {
        for line in ["/dev/sda2", "/dev/sda2 partition x 0 -2", "/dev/sda2 partition 1 0"] {
            let error = parse(&format!("{HEADINGS}{line}")).unwrap_err().to_string();
            assert!(error.starts_with("cannot parse /proc/swaps, line 2: "), "{error}");
        }
        assert!(parse("").unwrap().is_empty());
        assert!(parse(HEADINGS).unwrap().is_empty());
    }

    #[test]
    fn the_kind_of_a_block_device_is_that_of_its_disk() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        for (path, text) in [
            ("/sys/block/sda/queue/rotational", "1\n"),
            ("/sys/block/sda/sda2/partition", "2\n"),
            ("/sys/block/mmcblk0/queue/rotational", "0\n"),
            ("/sys/block/mmcblk0/mmcblk0p3/partition", "3\n"),
            ("/sys/block/dm-1/queue/rotational", "1\n"),
            ("/sys/block/dm-1/dm/name", "vg-swap\n"),
        ] {
            fs::create_dir_all(root.resolve(path).parent().unwrap()).unwrap();
            fs::write(root.resolve(path), text).unwrap();
        }
        let kinds = [
            "/dev/sda",
            "/dev/sda2",
            "/dev/mmcblk0p3",
            "/dev/mapper/vg-swap",
            "/dev/block/zram1",
            "/dev/zramx",
            "/dev/sdb1",
            "",
        ]
        .map(|path| kind_of_block_device(&root, path).unwrap());
        assert_eq!(kinds, [RotatingDisk, RotatingDisk, Disk, RotatingDisk, Zram, Disk, Disk, Disk]);
    }
}
