//! Block devices that allocate memory when a page is written.

use std::path::Path;

/// Whether the device at `path` may allocate memory when a page is written: zram, a loop device, a RAM
/// disk. The server then waits for the memory that it is to make free, and the machine hangs: seen
/// with `stress-ng --vm` over zram on Linux 6.12.
pub(super) fn may_allocate(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_numbered = |rest: &str| !rest.is_empty() && rest.bytes().all(|it| it.is_ascii_digit());
    ["zram", "loop", "ram"].iter().any(|kind| name.strip_prefix(kind).is_some_and(is_numbered))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_in_memory_may_allocate() {
        for path in ["/dev/zram0", "/dev/block/zram12", "/dev/loop3", "/dev/ram0"] {
            assert!(may_allocate(Path::new(path)), "{path}");
        }
        for path in ["/dev/nvme0n1p3", "/dev/sda2", "/dev/pmem0", "/var/ramp1", "/var/zram"] {
            assert!(!may_allocate(Path::new(path)), "{path}");
        }
    }
}
