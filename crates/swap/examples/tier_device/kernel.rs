//! Files of the kernel.

use std::ffi::CString;
use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use unjank_host::{swap_header, swap_switch};

use crate::{Result, memory_device};

/// The control groups of the phone.
const GROUPS: &str = "/sys/fs/cgroup";

/// A new block device in memory.
pub(crate) fn zram(bytes: u64) -> Result<String> {
    zram_over(bytes, None)
}

/// The same, whose pages can be written back to a device.
fn zram_over(bytes: u64, backing: Option<&str>) -> Result<String> {
    let number = fs::read_to_string("/sys/class/zram-control/hot_add")?;
    let number = number.trim();
    if let Some(backing) = backing {
        fs::write(format!("/sys/block/zram{number}/backing_dev"), backing)?;
    }
    fs::write(format!("/sys/block/zram{number}/disksize"), bytes.to_string())?;
    let path = format!("/dev/zram{number}");
    // As udev makes it.
    fs::set_permissions(&path, Permissions::from_mode(0o660))?;
    Ok(path)
}

/// Swaps to an empty device of so many bytes.
fn swap_to(path: &str, bytes: u64) -> Result<()> {
    let header = swap_header::header(bytes / 4096, 4096, b"other\0\0\0\0\0\0\0\0\0\0\0");
    fs::OpenOptions::new().write(true).open(path)?.write_all(&header)?;
    Ok(swap_switch::turn_on(Path::new(path), 0, false)?)
}

/// A zram device over a device, to which the machine swaps.
pub(crate) struct WrittenBack(String);

impl WrittenBack {
    pub(crate) fn swap_to(bytes: u64, backing: &str) -> Result<Self> {
        let path = zram_over(bytes, Some(backing))?;
        swap_to(&path, bytes)?;
        Ok(Self(path))
    }

    /// Pages on the device, read from it, and written to it.
    pub(crate) fn statistics(&self) -> Result<[u64; 3]> {
        let text = fs::read_to_string(self.file("bd_stat")?)?;
        let numbers: Vec<u64> =
            text.split_whitespace().map(str::parse).collect::<std::result::Result<_, _>>()?;
        Ok(numbers.try_into().map_err(|_| "not three numbers")?)
    }

    pub(crate) fn turn_off(self) -> Result<()> {
        swap_switch::turn_off(Path::new(&self.0))?;
        Ok(fs::write(self.file("reset")?, "1")?)
    }

    fn file(&self, name: &str) -> Result<String> {
        let device = self.0.strip_prefix("/dev/").ok_or("no device")?;
        Ok(format!("/sys/block/{device}/{name}"))
    }
}

/// Swaps to another device, which is smaller and comes last. Returns its path.
pub(crate) fn other_swap() -> Result<String> {
    const BYTES: u64 = 1 << 20;
    let path = zram(BYTES)?;
    swap_to(&path, BYTES)?;
    Ok(path)
}

/// Moves this process to a control group (version 2), which keeps about so many bytes of it in
/// memory; without a number, as many as there is room for.
pub(crate) fn throttle_memory(bytes: Option<usize>) -> Result<()> {
    let group = Path::new(GROUPS).join("tier");
    fs::write(Path::new(GROUPS).join("cgroup.subtree_control"), "+memory")?;
    fs::create_dir_all(&group)?;
    let limit = bytes.map_or("max".to_owned(), |bytes| bytes.to_string());
    fs::write(group.join("memory.high"), limit)?;
    Ok(fs::write(group.join("cgroup.procs"), std::process::id().to_string())?)
}

/// Has the kernel swap out pages of the processes of [`throttle_memory`]: without new pages, its limit
/// alone makes it swap nothing.
pub(crate) fn reclaim(bytes: usize) -> Result<()> {
    let file = Path::new(GROUPS).join("tier/memory.reclaim");
    match fs::write(file, bytes.to_string()) {
        // Less was possible.
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Ok(()),
        written => Ok(written?),
    }
}

/// Unmounts the file system in a directory, and returns its device.
pub(crate) fn unmount(directory: &str) -> Result<String> {
    let mounts = fs::read_to_string("/proc/mounts")?;
    let mut mounts = mounts.lines().map(|line| line.split(' '));
    let device = mounts.find_map(|mut words| {
        let device = words.next()?;
        (words.next()? == directory).then(|| device.to_owned())
    });
    let device = device.ok_or_else(|| format!("nothing is mounted at {directory}"))?;
    let path = CString::new(directory)?;
    // SAFETY: the path ends with NUL.
    match unsafe { libc::umount2(path.as_ptr(), 0) } {
        0 => Ok(device),
        _ => Err(std::io::Error::last_os_error().into()),
    }
}

/// The memory that programs can still use, in bytes.
pub(crate) fn available() -> Result<u64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).ok_or("no MemAvailable")?;
    Ok(kib.parse::<u64>()? << 10)
}

/// A counter of `/proc/vmstat`.
pub(crate) fn counter(name: &str) -> Result<u64> {
    let counters = fs::read_to_string("/proc/vmstat")?;
    let mut lines = counters.lines().filter_map(|line| line.split_once(' '));
    let (_, value) = lines.find(|(found, _)| *found == name).ok_or("no such counter")?;
    Ok(value.parse()?)
}

/// What the machine has of a tier: swap areas, ublk devices, files.
pub(crate) fn leftovers() -> Result<Vec<String>> {
    let is_backing = |name: &str| {
        let id = name.strip_prefix("ublkc").and_then(|number| number.parse().ok());
        id.is_some_and(memory_device::is_one)
    };
    let swaps = fs::read_to_string("/proc/swaps")?;
    let of_tiers = swaps.lines().filter(|line| line.contains("ublkb"));
    let mut left: Vec<String> = of_tiers.map(str::to_owned).collect();
    for (directory, prefix) in [("/dev", "ublkc"), ("/run/unjank-tiers", "")] {
        let Ok(entries) = fs::read_dir(directory) else { continue };
        for entry in entries {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.starts_with(prefix) && !is_backing(&name) {
                left.push(name);
            }
        }
    }
    Ok(left)
}
