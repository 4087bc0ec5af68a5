//! `/proc/meminfo`, `proc_meminfo(5)`.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::root::Root;
use unjank_units::Bytes;

const PATH: &str = "/proc/meminfo";

/// All amounts in `/proc/meminfo` at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemInfo {
    amounts: BTreeMap<String, Bytes>,
}

impl MemInfo {
    /// Reads all amounts.
    ///
    /// # Errors
    /// `File` without procfs, `Parse` names the line.
    pub fn read(root: &Root) -> Result<Self> {
        Self::parse(&root.read(PATH)?)
    }

    /// Parses lines such as `MemTotal:  24684084 kB`, where kB means KiB. Lines
    /// without the unit are numbers of pages, and are skipped.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let amount = |(number, line): (usize, &str)| {
            let (name, rest) = line.split_once(':')?;
            let kib = rest.trim().strip_suffix("kB")?.trim_end();
            let kib = kib
                .parse()
                .map_err(|_| Error::parse(PATH, number + 1, "expected a name and a number of kB"));
            Some(kib.map(|kib| (name.to_owned(), Bytes::from_kib(kib))))
        };
        let amounts = text.lines().enumerate().filter_map(amount).collect::<Result<_>>()?;
        Ok(Self { amounts })
    }

    /// Any amount by its name in the file.
    pub fn get(&self, name: &str) -> Option<Bytes> {
        self.amounts.get(name).copied()
    }

    /// Usable RAM: `MemTotal` of `proc_meminfo(5)`; `None` if the file lacks it.
    pub fn total(&self) -> Option<Bytes> {
        self.get("MemTotal")
    }

    /// Memory that a program can use without swapping: `MemAvailable`. Before
    /// Linux 3.14 it is estimated as free memory plus page cache without shared
    /// memory, which is too much.
    pub fn available(&self) -> Option<Bytes> {
        self.get("MemAvailable").or_else(|| {
            let free = self.get("MemFree")?.get();
            let cache = self.get("Cached").unwrap_or_default().get();
            let shared = self.get("Shmem").unwrap_or_default().get();
            Some(Bytes(free.saturating_add(cache.saturating_sub(shared))))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_found_by_name() {
        let info = MemInfo::parse("MemTotal:  2048 kB\nHugePages_Total:  4\n\nMemAvailable: 1 kB");
        let info = info.unwrap();
        assert_eq!((info.total(), info.available()), (Some(Bytes(2 << 20)), Some(Bytes(1024))));
        assert_eq!(info.get("HugePages_Total"), None);
    }

    #[test]
    fn old_kernels_have_free_memory_and_cache() {
        let info = MemInfo::parse("MemFree: 10 kB\nCached: 30 kB\nShmem: 12 kB").unwrap();
        assert_eq!(info.available(), Some(Bytes::from_kib(28)));
        assert_eq!(MemInfo::default().available(), None);
    }

    #[test]
    fn a_malformed_amount_is_reported_with_its_line() {
        let error = MemInfo::parse("MemTotal: 1 kB\nMemFree: some kB").unwrap_err().to_string();
        assert_eq!(error, "cannot parse /proc/meminfo, line 2: expected a name and a number of kB");
    }
}
