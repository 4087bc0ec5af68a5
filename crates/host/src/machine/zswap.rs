//! zswap, a compressed cache in front of the swap devices:
//! `Documentation/admin-guide/mm/zswap.rst`.

use serde::{Deserialize, Serialize};

use super::meminfo::MemInfo;
use super::reader::line;
use crate::error::{Error, Result};
use crate::root::Root;
use unjank_units::Bytes;

const DIR: &str = "/sys/module/zswap/parameters";

/// The reason if there is no zswap.
pub(super) const ABSENT: &str = "no /sys/module/zswap: the kernel is built without it";

/// zswap: `/sys/module/zswap/parameters`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Zswap {
    /// Whether it is enabled.
    pub enabled: bool,
    /// The compression algorithm: `lzo`, `zstd` …; empty if the kernel does not name it.
    pub compressor: String,
    /// The largest share of memory it may use, in percent.
    pub max_pool_percent: Option<u32>,
    /// Whether it writes cold pages to the swap device before it is full, if
    /// the kernel supports that.
    pub shrinker: Option<bool>,
    /// Bytes stored, before compression (`Zswapped` of `/proc/meminfo`), if the
    /// kernel reports it.
    pub original: Option<Bytes>,
    /// Memory used (`Zswap` of `/proc/meminfo`), if the kernel reports it.
    pub memory: Option<Bytes>,
}

pub(super) fn read(root: &Root, info: &MemInfo) -> Result<Option<Zswap>> {
    let Some(enabled) = switch(root, "enabled")? else { return Ok(None) };
    Ok(Some(Zswap {
        enabled,
        compressor: line(root, format!("{DIR}/compressor"))?.unwrap_or_default(),
        max_pool_percent: root.read_number_if_there(format!("{DIR}/max_pool_percent"))?,
        shrinker: switch(root, "shrinker_enabled")?,
        original: info.get("Zswapped"),
        memory: info.get("Zswap"),
    }))
}

/// A boolean module parameter.
fn switch(root: &Root, name: &str) -> Result<Option<bool>> {
    let path = format!("{DIR}/{name}");
    match line(root, &path)?.as_deref() {
        None => Ok(None),
        Some("Y" | "1") => Ok(Some(true)),
        Some("N" | "0") => Ok(Some(false)),
        Some(_) => Err(Error::parse(path, 1, "expected Y or N")),
    }
}
