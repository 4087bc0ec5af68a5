//! Files of the kernel.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use unjank_host::{swap_header, swap_switch};

use crate::Result;

/// The control groups of the phone.
const GROUPS: &str = "/sys/fs/cgroup";

/// A new block device in memory.
pub(crate) fn zram(bytes: u64) -> Result<String> {
    let number = fs::read_to_string("/sys/class/zram-control/hot_add")?;
    let number = number.trim();
    fs::write(format!("/sys/block/zram{number}/disksize"), bytes.to_string())?;
    let path = format!("/dev/zram{number}");
    // As udev makes it.
    fs::set_permissions(&path, Permissions::from_mode(0o660))?;
    Ok(path)
}

/// Swaps to another device, which is smaller and comes last. Returns its path.
pub(crate) fn other_swap() -> Result<String> {
    const BYTES: u64 = 1 << 20;
    let path = zram(BYTES)?;
    let header = swap_header::header(BYTES / 4096, 4096, b"other\0\0\0\0\0\0\0\0\0\0\0");
    fs::OpenOptions::new().write(true).open(&path)?.write_all(&header)?;
    swap_switch::turn_on(Path::new(&path), 0, false)?;
    Ok(path)
}

/// Limits the memory of a device of [`zram`]; writes fail when it is full.
pub(crate) fn limit_zram(path: &str, bytes: u64) -> Result<()> {
    let name = path.strip_prefix("/dev/").ok_or("no device")?;
    Ok(fs::write(format!("/sys/block/{name}/mem_limit"), bytes.to_string())?)
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

/// A counter of `/proc/vmstat`.
pub(crate) fn counter(name: &str) -> Result<u64> {
    let counters = fs::read_to_string("/proc/vmstat")?;
    let mut lines = counters.lines().filter_map(|line| line.split_once(' '));
    let (_, value) = lines.find(|(found, _)| *found == name).ok_or("no such counter")?;
    Ok(value.parse()?)
}

/// What the machine has of a tier: swap areas, ublk devices, files.
pub(crate) fn leftovers() -> Result<Vec<String>> {
    let swaps = fs::read_to_string("/proc/swaps")?;
    let of_tiers = swaps.lines().filter(|line| line.contains("ublkb"));
    let mut left: Vec<String> = of_tiers.map(str::to_owned).collect();
    for (directory, prefix) in [("/dev", "ublkc"), ("/run/unjank-tiers", "")] {
        let Ok(entries) = fs::read_dir(directory) else { continue };
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let names = names.collect::<std::io::Result<Vec<String>>>()?;
        left.extend(names.into_iter().filter(|name| name.starts_with(prefix)));
    }
    Ok(left)
}
