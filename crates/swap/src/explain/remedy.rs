//! The remedy that fits the machine.

use std::path::Path;

use unjank_host::machine::{SwapKind, swap, zram};
use unjank_host::{Result, Root};

use crate::remedy::tier::room::is_at;

/// The service that writes cold pages of zram back.
const TIERD: &str = "sudo unjank swap tierd";
/// A tier over a new file.
const TIER: &str =
    "sudo unjank swap tier up --fast-memory 256MiB --slow /var/swap/slow --size 4GiB";
/// Proposes settings for this machine's swap.
const TUNE: &str = "sudo unjank swap tune";
/// The driver of block devices that a process serves.
const UBLK: &str = "/sys/class/misc/ublk-control";

/// The command that makes page-ins of this machine faster.
///
/// # Errors
/// A file of the kernel cannot be read.
pub fn fitting(root: &Root) -> Result<&'static str> {
    let swaps = swap::devices(root)?;
    let has = |kind: SwapKind| swaps.iter().any(|device| device.kind == kind);
    let is_backed = |device: &zram::Zram| {
        let name = Path::new(&device.name);
        device.backing_device.is_some() && swaps.iter().any(|swap| is_at(&swap.path, name))
    };
    let is_on_storage = has(SwapKind::Disk) || has(SwapKind::RotatingDisk) || has(SwapKind::File);
    Ok(if zram::devices(root)?.iter().any(is_backed) {
        TIERD
    } else if is_on_storage && root.exists(UBLK) {
        TIER
    } else {
        TUNE
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_remedy_is_one_for_the_machine_s_swap() {
        let of = |swap: &str, backing: &str, ublk: bool| {
            let top = tempfile::tempdir().unwrap();
            let zram = top.path().join("sys/block/zram0");
            fs::create_dir_all(&zram).unwrap();
            fs::write(zram.join("disksize"), "1048576").unwrap();
            fs::write(zram.join("backing_dev"), backing).unwrap();
            if ublk {
                fs::create_dir_all(top.path().join(&UBLK[1..])).unwrap();
            }
            fs::create_dir_all(top.path().join("proc")).unwrap();
            let swaps = format!("Filename Type Size Used Priority\n{swap} 1024 0 -2\n");
            fs::write(top.path().join("proc/swaps"), swaps).unwrap();
            fitting(&Root::at(top.path())).unwrap()
        };
        assert_eq!(of("/dev/zram0 partition", "/dev/sda2", true), TIERD);
        assert_eq!(of("/dev/zram0 partition", "none", true), TUNE);
        assert_eq!(of("/swap file", "none", true), TIER);
        assert_eq!(of("/dev/sda1 partition", "/dev/sda2", false), TUNE, "no ublk");
    }
}
