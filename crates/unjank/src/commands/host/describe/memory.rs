//! Memory, swap and pressure.

use unjank_host::Bytes;
use unjank_host::machine::{Memory, Pressure, Stall, SwapKind};

use crate::output::Page;

pub(super) fn memory(page: &mut Page, memory: &Memory) {
    page.section("Memory and swap");
    page.fact(
        "memory",
        format!("{} available of {}, in pages of {}", memory.available, memory.total, memory.page),
    );
    let mut reclaim = Vec::new();
    reclaim.extend(memory.swappiness.map(|swappiness| format!("swappiness {swappiness}")));
    reclaim.extend(memory.page_cluster.map(readahead));
    reclaim.extend(
        memory.mglru.map(|on| format!("multi-generational LRU {}", if on { "on" } else { "off" })),
    );
    if !reclaim.is_empty() {
        page.fact("reclaim", reclaim.join(", "));
    }
    zswap(page, memory);
    if memory.swap.is_empty() {
        page.fact("swap", "none");
    } else {
        let row = |device: &unjank_host::machine::SwapDevice| {
            vec![
                device.path.clone(),
                kind(device.kind).to_owned(),
                device.size.to_string(),
                device.used.to_string(),
                device.priority.to_string(),
            ]
        };
        let rows: Vec<Vec<String>> = memory.swap.iter().map(row).collect();
        page.table(&["swap", "kind", "size", "used", "priority"], &rows);
    }
    let rows: Vec<Vec<String>> = memory
        .zram
        .iter()
        .map(|zram| {
            vec![
                zram.name.clone(),
                zram.algorithm.clone(),
                zram.size.to_string(),
                compressed(zram.original, zram.memory),
                zram.backing_device.clone().unwrap_or_default(),
            ]
        })
        .collect();
    if !rows.is_empty() {
        page.table(&["zram", "algorithm", "size", "stored", "writes back to"], &rows);
    }
}

/// `vm.page-cluster` is a power of two.
fn readahead(cluster: u32) -> String {
    match 1_u64.checked_shl(cluster) {
        Some(1) => "no swap readahead".to_owned(),
        Some(pages) => format!("swap readahead of {pages} pages"),
        None => format!("swap readahead of 2^{cluster} pages"),
    }
}

fn zswap(page: &mut Page, memory: &Memory) {
    let Some(zswap) = &memory.zswap else { return };
    if !zswap.enabled {
        page.fact("zswap", "off");
        return;
    }
    let mut parts = vec![zswap.compressor.clone()];
    parts.extend(zswap.max_pool_percent.map(|most| format!("at most {most} % of memory")));
    parts.extend(zswap.shrinker.map(|on| format!("shrinker {}", if on { "on" } else { "off" })));
    if let (Some(original), Some(memory)) = (zswap.original, zswap.memory) {
        parts.push(compressed(original, memory));
    }
    page.fact("zswap", parts.join(", "));
}

fn compressed(original: Bytes, memory: Bytes) -> String {
    format!("{original} in {memory}")
}

fn kind(kind: SwapKind) -> &'static str {
    match kind {
        SwapKind::Zram => "zram",
        SwapKind::Disk => "disk",
        SwapKind::RotatingDisk => "rotating disk",
        SwapKind::File => "file",
    }
}

pub(super) fn pressure(page: &mut Page, pressure: &Pressure) {
    page.section("Pressure");
    let row = |name: &str, stall: &Stall| {
        vec![
            name.to_owned(),
            format!("{:.2} %", stall.some_avg10),
            format!("{:.2} %", stall.full_avg10),
            stall.some_total.to_string(),
            stall.full_total.to_string(),
        ]
    };
    page.table(
        &[
            "waiting for",
            "some task, last 10 s",
            "all tasks, last 10 s",
            "some, since boot",
            "all, since boot",
        ],
        &[row("CPU", &pressure.cpu), row("memory", &pressure.memory), row("I/O", &pressure.io)],
    );
}
