//! Swap areas: the sectors of a device that hold pages of swap.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::block_device::{self, DeviceNumber};
use crate::error::Result;
use crate::extents::{self, Extent};
use crate::machine::swap::{SwapDevice, SwapKind};
use crate::memory::page_size;
use crate::root::Root;
use crate::support::Support;

/// The size of a page of an area, whatever the kernel's own pages are.
const PAGE: u64 = 4096;
/// Sectors of a page.
const SECTORS: u64 = PAGE / 512;

/// A swap area, or another device whose requests are counted in pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Area {
    /// Its path, as in `/proc/swaps`, or another name.
    pub name: String,
    /// The whole device that its requests go to.
    pub device: DeviceNumber,
    /// Whether this is a swap area.
    pub is_swap: bool,
    /// Runs in ascending order of sectors.
    runs: Vec<Run>,
}

/// Consecutive pages on consecutive sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// First sector on the device, in units of 512 bytes.
    pub sector: u64,
    /// The first page of 4 KiB within the area.
    pub page: u64,
    /// Length in pages of 4 KiB.
    pub pages: u64,
}

impl Area {
    /// An area of these runs, in any order.
    pub fn new(name: String, device: DeviceNumber, is_swap: bool, mut runs: Vec<Run>) -> Self {
        runs.sort_by_key(|run| run.sector);
        Self { name, device, is_swap, runs }
    }

    /// The pages of the area that a request touches, within the run in which it begins. No request
    /// reaches into the next run: the kernel makes requests for swap page by page and merges them
    /// only if both sectors and pages are consecutive.
    pub fn pages(
        &self,
        device: DeviceNumber,
        sector: u64,
        sectors: u64,
    ) -> Option<std::ops::RangeInclusive<u64>> {
        if device != self.device || sectors == 0 {
            return None;
        }
        let after = self.runs.partition_point(|run| run.sector <= sector);
        let run = self.runs.get(after.checked_sub(1)?)?;
        let (within, all) = (sector - run.sector, run.pages.saturating_mul(SECTORS));
        if within >= all {
            return None;
        }
        let last = within.saturating_add(sectors - 1).min(all - 1);
        let page = |sector: u64| run.page.saturating_add(sector / SECTORS);
        Some(page(within)..=page(last))
    }

    /// A filter for the kernel that passes all requests to the area and few others.
    pub fn filter(&self) -> String {
        let device = self.device.0;
        let first = self.runs.first().map_or(0, |run| run.sector);
        let end = self
            .runs
            .last()
            .map_or(u64::MAX, |run| run.sector.saturating_add(run.pages.saturating_mul(SECTORS)));
        format!("(dev == {device} && sector >= {first} && sector < {end})")
    }
}

/// The swap areas of this machine, as far as their places are known.
///
/// # Errors
/// `Parse` for `/proc/swaps`; a file that cannot be opened.
pub fn all(root: &Root) -> Result<Vec<Area>> {
    let mut areas = Vec::new();
    for device in crate::machine::swap::devices(root)? {
        if let Support::Yes(area) = of(root, &device)? {
            areas.push(area);
        }
    }
    Ok(areas)
}

/// The place of a swap device or file; `No` if it is not on a block device, was
/// renamed, or its file system does not say.
///
/// # Errors
/// A file that cannot be opened; a malformed file of sysfs.
pub fn of(root: &Root, swap: &SwapDevice) -> Result<Support<Area>> {
    let path = Path::new(&swap.path);
    let number = match block_device::number_of(root, path) {
        Ok(number) => number,
        Err(error) if error.is_not_found() => {
            return Ok(Support::no("its file was renamed or removed"));
        }
        Err(error) => return Err(error),
    };
    let Some(part) = block_device::part(root, number)? else {
        return Ok(Support::no("it is not on a block device"));
    };
    let runs = if swap.kind == SwapKind::File {
        match extents::of(root, path)? {
            Support::Yes(extents) => of_file(&extents, part.start, page_size().get()),
            Support::No(reason) => return Ok(Support::No(reason)),
        }
    } else {
        whole(part.start, part.sectors)
    };
    Ok(Support::Yes(Area::new(swap.path.clone(), part.device, true, runs)))
}

/// The run of a device or partition that begins at `start` and has `sectors` sectors.
pub fn whole(start: u64, sectors: u64) -> Vec<Run> {
    vec![Run { sector: start, page: 0, pages: sectors.div_ceil(SECTORS) }]
}

/// The runs of a swap file with `extents`, in the order of the file, on a file system whose
/// device begins at sector `start`. As in the kernel (`iomap_swapfile_activate` in
/// `fs/iomap/swapfile.c`), each contiguous piece is rounded inwards to the kernel's pages of
/// `kernel_page` bytes, and the remaining pages are numbered consecutively.
pub fn of_file(extents: &[Extent], start: u64, kernel_page: u64) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut page = 0;
    let mut rest = extents.iter().copied().peekable();
    while let Some(mut piece) = rest.next() {
        while let Some(next) = rest.next_if(|next| next.physical == piece.physical + piece.length) {
            piece.length += next.length;
        }
        let first = piece.physical.next_multiple_of(kernel_page);
        let end = (piece.physical + piece.length) / kernel_page * kernel_page;
        if end <= first {
            continue;
        }
        let pages = (end - first) / PAGE;
        runs.push(Run { sector: start + first / 512, page, pages });
        page += pages;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: DeviceNumber = DeviceNumber::new(254, 0);

    fn extent(logical: u64, physical: u64, length: u64) -> Extent {
        Extent { logical, physical, length }
    }

    #[test]
    fn a_file_in_pieces_is_numbered_in_its_own_order() {
        // From filefrag(8) of a swap file on ext4: the second piece lies before the first.
        let page = 4096;
        let extents = [
            extent(0, 29_652_992 * page, 2048 * page),
            extent(2048 * page, 1_000 * page, 10 * page),
            extent(2058 * page, 29_661_184 * page, 100 * page),
        ];
        let area = Area::new("/swap".to_owned(), DISK, true, of_file(&extents, 0, page));
        let pages = |sector, sectors| area.pages(DISK, sector, sectors);
        assert_eq!(pages(29_652_992 * 8, 8), Some(0..=0));
        assert_eq!(pages((29_652_992 + 2047) * 8, 8), Some(2047..=2047));
        assert_eq!(pages((29_652_992 + 2048) * 8, 8), None, "another file's");
        assert_eq!(pages(1_000 * 8, 16), Some(2048..=2049));
        assert_eq!(pages(29_661_185 * 8, 8), Some(2059..=2059));
        assert_eq!(pages(999 * 8, 8), None);
        assert_eq!(area.pages(DeviceNumber::new(8, 0), 1_000 * 8, 8), None, "another device");
        let end = (29_661_184 + 100) * 8;
        let filter = format!("(dev == 266338304 && sector >= 8000 && sector < {end})");
        assert_eq!(area.filter(), filter);
    }

    #[test]
    fn pieces_are_rounded_inwards_to_pages() {
        // A file system with blocks of 1 KiB, on a partition that begins at sector 63.
        let extents =
            [extent(0, 1024, 8192), extent(8192, 20_480, 3072), extent(11_264, 40_960, 4096)];
        let runs = of_file(&extents, 63, 4096);
        let first = Run { sector: 63 + 8, page: 0, pages: 1 };
        assert_eq!(runs, [first, Run { sector: 63 + 80, page: 1, pages: 1 }]);
    }

    #[test]
    fn neighbouring_extents_are_one_piece() {
        // The first block of a swap file was written by mkswap(8), the rest was not.
        let extents = [extent(0, 4096, 1024), extent(1024, 5120, 3072), extent(4096, 8192, 4096)];
        assert_eq!(of_file(&extents, 0, 4096), [Run { sector: 8, page: 0, pages: 2 }]);
        // With pages of 16 KiB, the same place has none.
        assert!(of_file(&extents, 0, 16_384).is_empty());
    }

    #[test]
    fn pages_of_a_partition_count_from_its_start() {
        let area = Area::new("/dev/sda2".to_owned(), DISK, true, whole(2048, 4096));
        assert_eq!(area.pages(DISK, 2048, 8), Some(0..=0));
        assert_eq!(area.pages(DISK, 2048 + 4088, 80), Some(511..=511), "cut at its end");
        assert_eq!(area.pages(DISK, 2047, 8), None);
        assert_eq!(area.pages(DISK, 2048, 0), None);
    }

    proptest::proptest! {
        #[test]
        fn every_page_of_a_file_is_found_at_its_sector(
            pieces in proptest::collection::vec((1_u64..100, 0_u64..50), 1..20),
            start in 0_u64..10_000,
        ) {
            let (mut logical, mut physical) = (0, 0);
            let mut extents = Vec::new();
            for (pages, hole) in pieces {
                physical += hole * 4096;
                extents.push(extent(logical, physical, pages * 4096));
                logical += pages * 4096;
                physical += pages * 4096;
            }
            let area = Area::new(String::new(), DISK, true, of_file(&extents, start, 4096));
            for piece in extents {
                for page in 0..piece.length / 4096 {
                    let sector = start + piece.physical / 512 + page * 8;
                    let number = piece.logical / 4096 + page;
                    proptest::prop_assert_eq!(area.pages(DISK, sector, 8), Some(number..=number));
                }
            }
        }
    }
}
