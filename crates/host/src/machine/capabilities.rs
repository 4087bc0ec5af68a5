//! The capabilities of this process: `capabilities(7)`.

use super::reader::Reader;
use super::status;
use crate::error::{Error, Result};
use crate::root::Root;

/// The capabilities by bit, `include/uapi/linux/capability.h`.
const NAMES: [&str; 41] = [
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_DAC_READ_SEARCH",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SETPCAP",
    "CAP_LINUX_IMMUTABLE",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_BROADCAST",
    "CAP_NET_ADMIN",
    "CAP_NET_RAW",
    "CAP_IPC_LOCK",
    "CAP_IPC_OWNER",
    "CAP_SYS_MODULE",
    "CAP_SYS_RAWIO",
    "CAP_SYS_CHROOT",
    "CAP_SYS_PTRACE",
    "CAP_SYS_PACCT",
    "CAP_SYS_ADMIN",
    "CAP_SYS_BOOT",
    "CAP_SYS_NICE",
    "CAP_SYS_RESOURCE",
    "CAP_SYS_TIME",
    "CAP_SYS_TTY_CONFIG",
    "CAP_MKNOD",
    "CAP_LEASE",
    "CAP_AUDIT_WRITE",
    "CAP_AUDIT_CONTROL",
    "CAP_SETFCAP",
    "CAP_MAC_OVERRIDE",
    "CAP_MAC_ADMIN",
    "CAP_SYSLOG",
    "CAP_WAKE_ALARM",
    "CAP_BLOCK_SUSPEND",
    "CAP_AUDIT_READ",
    "CAP_PERFMON",
    "CAP_BPF",
    "CAP_CHECKPOINT_RESTORE",
];

/// The names of the effective capabilities, in the order of their bits.
pub(super) fn read(reader: &mut Reader) -> Vec<String> {
    let effective = effective(reader.root());
    reader
        .wanted("capabilities", effective, "no CapEff in /proc/self/status")
        .map(names)
        .unwrap_or_default()
}

/// Whether this process has the capability `name`.
pub(crate) fn has(root: &Root, name: &str) -> Result<bool> {
    let bit = NAMES.iter().position(|known| *known == name);
    Ok(effective(root)?.zip(bit).is_some_and(|(mask, bit)| mask & (1 << bit) != 0))
}

fn effective(root: &Root) -> Result<Option<u64>> {
    let Some(status) = status::read(root)? else { return Ok(None) };
    let Some(mask) = status::field(&status, "CapEff") else { return Ok(None) };
    let line = status.lines().position(|line| line.starts_with("CapEff:")).unwrap_or_default();
    u64::from_str_radix(mask, 16).map(Some).map_err(|_| {
        Error::parse("/proc/self/status", line + 1, "expected CapEff as a hexadecimal number")
    })
}

/// A bit without a name (a capability newer than this list) is named by its
/// number; old kernels (3.x) set every bit for root, even unused ones.
fn names(mask: u64) -> Vec<String> {
    let mask = if mask == u64::MAX { (1 << NAMES.len()) - 1 } else { mask };
    (0..u64::BITS)
        .filter(|bit| mask & (1 << bit) != 0)
        .map(|bit| match NAMES.get(bit as usize) {
            Some(name) => (*name).to_owned(),
            None => format!("CAP_{bit}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_become_names() {
        assert!(names(0).is_empty());
        assert_eq!(names(1 << 23 | 1 << 14), ["CAP_IPC_LOCK", "CAP_SYS_NICE"]);
        assert_eq!(names(1 << 40 | 1 << 63), ["CAP_CHECKPOINT_RESTORE", "CAP_63"]);
        assert_eq!(names(u64::MAX).len(), NAMES.len());
        assert_eq!(names(u64::MAX - 1).len(), 63);
    }
}
