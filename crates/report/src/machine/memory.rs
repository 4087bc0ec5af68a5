//! Memory and swap.

use unjank_host::Bytes;
use unjank_host::machine::{Memory, SwapKind};

use crate::visible::visible;

/// Size, page size and the settings of reclaim.
pub(super) fn memory(memory: &Memory) -> Vec<String> {
    if memory.total == Bytes(0) {
        return Vec::new();
    }
    let mut lines = vec![format!(
        "{} in all, {} available, pages of {}",
        memory.total, memory.available, memory.page
    )];
    let settings: Vec<String> = [
        memory.swappiness.map(|value| format!("swappiness {value}")),
        memory.page_cluster.map(|value| format!("page-cluster {value}")),
        memory.mglru.map(|on| format!("MGLRU {}", if on { "on" } else { "off" })),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !settings.is_empty() {
        lines.push(settings.join(", "));
    }
    lines
}

/// Swap devices, zram and zswap.
pub(super) fn swap(memory: &Memory) -> Vec<String> {
    if memory.total == Bytes(0) {
        return Vec::new();
    }
    let mut lines: Vec<String> = memory
        .swap
        .iter()
        .map(|device| {
            let kind = match device.kind {
                SwapKind::Zram => "compressed memory",
                SwapKind::Disk => "disk",
                SwapKind::RotatingDisk => "rotating disk",
                SwapKind::File => "file",
            };
            format!(
                "{} ({kind}): {} of {} in use, priority {}",
                visible(&device.path),
                device.used,
                device.size,
                device.priority
            )
        })
        .collect();
    if lines.is_empty() {
        lines.push("no swap device".to_owned());
    }
    lines.extend(memory.zram.iter().map(|zram| {
        let to = zram
            .backing_device
            .as_ref()
            .map_or_else(String::new, |device| format!(", cold pages to {}", visible(device)));
        format!(
            "{}: {} holds {} in {}{to}",
            visible(&zram.name),
            visible(&zram.algorithm),
            zram.original,
            zram.memory
        )
    }));
    lines.extend(memory.zswap.as_ref().map(|zswap| {
        match (zswap.enabled, zswap.max_pool_percent) {
            (false, _) => "zswap off".to_owned(),
            (true, Some(percent)) => {
                format!("zswap on: {}, up to {percent} % of memory", visible(&zswap.compressor))
            }
            (true, None) => format!("zswap on: {}", visible(&zswap.compressor)),
        }
    }));
    lines
}
