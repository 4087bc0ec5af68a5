//! Memory, and the kernel's settings for swapping.

use serde::{Deserialize, Serialize};

use super::auxv;
use super::cgroup;
use super::meminfo::MemInfo;
use super::reader::Reader;
use super::swap::{self, SwapDevice};
use super::zram::{self, Zram};
use super::zswap::{self, Zswap};
use crate::error::{Error, Result};
use crate::root::Root;
use unjank_units::Bytes;

/// Memory and swap.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// `MemTotal` of `/proc/meminfo`.
    pub total: Bytes,
    /// `MemAvailable` of `/proc/meminfo`; before Linux 3.14 an estimate.
    pub available: Bytes,
    /// The size of a page: `AT_PAGESZ` of `/proc/self/auxv`.
    pub page: Bytes,
    /// `vm.swappiness`.
    pub swappiness: Option<u32>,
    /// `vm.page-cluster`: swap readahead is 2 to this power, in pages.
    pub page_cluster: Option<u32>,
    /// Whether the multi-generational LRU is on
    /// (`/sys/kernel/mm/lru_gen/enabled`).
    pub mglru: Option<bool>,
    /// Active swap devices, highest priority first.
    pub swap: Vec<SwapDevice>,
    /// zram devices with a size.
    pub zram: Vec<Zram>,
    /// zswap, if the kernel has it.
    pub zswap: Option<Zswap>,
}

/// The page size of almost every machine.
const USUAL_PAGE: Bytes = Bytes(4096);

pub(super) fn read(reader: &mut Reader) -> Memory {
    let info = MemInfo::read(reader.root()).map(Some);
    let info = reader.optional("memory", info).unwrap_or_default();
    let root = reader.root();
    let sysctl = |name: &str| root.read_number_if_there(format!("/proc/sys/vm/{name}"));
    let (swappiness, page_cluster) = (sysctl("swappiness"), sysctl("page-cluster"));
    let (page, mglru) = (auxv::page_size(root), mglru(root));
    let (swap, zram) = (swap::devices(root).map(Some), zram::devices(root).map(Some));
    let zswap = zswap::read(root, &info);
    Memory {
        total: info.total().unwrap_or_default(),
        available: info.available().unwrap_or_default(),
        page: reader
            .wanted("memory.page", page, "no AT_PAGESZ in /proc/self/auxv; 4 KiB is assumed")
            .unwrap_or(USUAL_PAGE),
        swappiness: reader.wanted("memory.swappiness", swappiness, "no /proc/sys/vm/swappiness"),
        page_cluster: reader.wanted(
            "memory.page_cluster",
            page_cluster,
            "no /proc/sys/vm/page-cluster: a kernel without swap",
        ),
        mglru: reader.wanted(
            "memory.mglru",
            mglru,
            "no /sys/kernel/mm/lru_gen: the kernel is older than 6.1, or built without it",
        ),
        swap: reader.optional("memory.swap", swap).unwrap_or_default(),
        zram: reader.optional("memory.zram", zram).unwrap_or_default(),
        zswap: reader.wanted("memory.zswap", zswap, zswap::ABSENT),
    }
}

/// Memory that this process can use without swapping, within its cgroups'
/// limits.
///
/// # Errors
/// `File` or `Parse` with the file that could not be read.
pub fn available(root: &Root) -> Result<Bytes> {
    let whole = MemInfo::read(root)?
        .available()
        .ok_or_else(|| Error::parse("/proc/meminfo", 1, "expected MemAvailable or MemFree"))?;
    Ok(cgroup::memory_left(root)?.map_or(whole, |left| left.min(whole)))
}

/// The first bit of `enabled` is the main switch
/// (`Documentation/admin-guide/mm/multigen_lru.rst`).
fn mglru(root: &Root) -> Result<Option<bool>> {
    let path = "/sys/kernel/mm/lru_gen/enabled";
    let Some(text) = root.read_if_there(path)? else { return Ok(None) };
    let digits = text.strip_prefix("0x").unwrap_or(&text);
    u32::from_str_radix(digits, 16)
        .map(|bits| Some(bits & 1 != 0))
        .map_err(|_| Error::parse(path, 1, "expected a hexadecimal number"))
}
