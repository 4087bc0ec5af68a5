//! Measurements and machines for tests.

use unjank_host::machine::{Memory, SwapDevice, SwapKind};
use unjank_host::{Bytes, Nanos};
use unjank_measure::{Series, SeriesRecord};

use super::super::measured::{Compressed, Storage};
use super::setting::Present;

pub(super) fn series(time: u64) -> SeriesRecord {
    let mut series = Series::new("swap/tune/read");
    (0..1000).for_each(|_| series.record(Nanos(time)));
    series.finish()
}

pub(super) fn compressed(algorithm: &str, ratio: u64, write: u64, read: u64) -> Compressed {
    Compressed {
        algorithm: algorithm.to_owned(),
        original: Bytes::from_mib(16),
        compressed: Bytes((160 << 20) / ratio),
        write: series(write),
        read: series(read),
        groups: vec![(1, Nanos(read)), (8, Nanos(read * 8))],
    }
}

pub(super) fn storage(read: u64, each_more: u64) -> Storage {
    let group = |pages: u64| (pages as usize, Nanos(read + each_more * (pages - 1)));
    let groups = [1, 2, 4, 8, 16, 32].map(group).to_vec();
    Storage { name: "files in /home".to_owned(), read: series(read), groups }
}

pub(super) fn device(kind: SwapKind, path: &str) -> SwapDevice {
    let size = Bytes::from_mib(2048);
    SwapDevice { kind, size, path: path.to_owned(), ..SwapDevice::default() }
}

/// A machine of 8 GiB without swap.
pub(super) fn present() -> Present {
    let memory = Memory {
        total: Bytes::from_mib(8192),
        swappiness: Some(60),
        page_cluster: Some(3),
        ..Memory::default()
    };
    Present { memory, kernel: "6.12.1-x".to_owned(), ..Present::default() }
}
