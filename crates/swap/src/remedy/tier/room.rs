//! Memory for the pages of a tier that is to be taken down.

use std::path::Path;

use unjank_host::machine::MemInfo;
use unjank_host::machine::swap::{self, SwapDevice};
use unjank_host::{Bytes, Result, Root};

/// The share of all memory that remains free: one part of so many.
const REMAINS: u64 = 50;

/// The area at `path`, if the machine swaps to it, and how much memory is missing to bring all its
/// pages back: what does not fit into available memory and into swap areas on storage.
///
/// # Errors
/// The kernel's files cannot be read.
pub fn look(root: &Root, path: &Path) -> Result<Option<(SwapDevice, Bytes)>> {
    let devices = swap::devices(root)?;
    let (ours, others): (Vec<_>, Vec<_>) =
        devices.into_iter().partition(|device| is_at(&device.path, path));
    let Some(ours) = ours.into_iter().next() else { return Ok(None) };
    let memory = MemInfo::read(root)?;
    let total = memory.total().unwrap_or_default().get();
    let available = memory.available().unwrap_or_default().get();
    let elsewhere = others.iter().filter(|area| !is_in_memory(&area.path));
    let elsewhere = elsewhere.map(|area| area.size.get().saturating_sub(area.used.get())).sum();
    let missing = missing(ours.used.get(), available.saturating_sub(total / REMAINS), elsewhere);
    Ok(Some((ours, Bytes(missing))))
}

/// Whether a path of `/proc/swaps` is that of the device at `path`. The kernel prints it as seen
/// from the reader's root directory, and marks one that was deleted.
pub(crate) fn is_at(listed: &str, path: &Path) -> bool {
    let listed = listed.strip_suffix(" (deleted)").unwrap_or(listed);
    Path::new(listed).file_name() == path.file_name()
}

/// Whether the pages of an area of `/proc/swaps` may be in memory: those of zram, or of another
/// tier, of which nobody can say how many still fit.
fn is_in_memory(listed: &str) -> bool {
    let name = Path::new(listed).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("zram") || name.starts_with("ublkb")
}

fn missing(used: u64, available: u64, elsewhere: u64) -> u64 {
    used.saturating_sub(available).saturating_sub(elsewhere)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_fits_nowhere_else_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("proc")).unwrap();
        let line = |path: &str, used: u64| format!("{path} partition 1000 {used} 5\n");
        let look = |available: u64, others: &str| {
            let memory = format!("MemTotal: 5000 kB\nMemAvailable: {available} kB\n");
            fs::write(dir.path().join("proc/meminfo"), memory).unwrap();
            let swaps = format!("Filename Type Size Used Priority\n{others}");
            fs::write(dir.path().join("proc/swaps"), swaps).unwrap();
            let found = look(&Root::at(dir.path()), Path::new("/dev/ublkb0")).unwrap();
            found.map(|(area, missing)| (area.used.get() >> 10, missing.get() >> 10))
        };
        let ours = line("/dev/ublkb0", 600);
        assert_eq!(look(900, &ours), Some((600, 0)));
        assert_eq!(look(300, &ours), Some((600, 400)), "100 of 5000 remain free");
        assert_eq!(look(300, &(line("/dev/sdb2", 700) + &ours)), Some((600, 100)));
        assert_eq!(look(300, &(line("/dev/zram0", 700) + &ours)), Some((600, 400)));
        assert_eq!(look(300, &line("/dev/ublkb1", 600)), None);
        for seen in ["/jail/dev/ublkb0", "/dev/ublkb0\\040(deleted)"] {
            assert_eq!(look(900, &line(seen, 600)), Some((600, 0)), "{seen}");
        }
    }
}
