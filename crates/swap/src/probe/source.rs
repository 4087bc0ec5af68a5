//! Memory that can be evicted repeatedly.

use std::path::Path;
use std::thread;
use std::time::Duration;

use unjank_host::memory::{Access, Mapping, page_size};
use unjank_host::storage::ScratchFile;
use unjank_host::{Error, Result, Support};
use unjank_measure::Monitor;

use super::content::Random;

/// Memory that can be evicted and touched again.
pub(crate) trait Evictable {
    /// Evicts as many pages as the kernel allows.
    fn evict(&mut self) -> Result<&Mapping>;
}

/// Pages to fill between two checks for a stop.
const LOOK: usize = 1 << 10;
const INTERRUPTED: &str = "interrupted before there was memory to evict";

struct Anonymous(Mapping);

struct File {
    scratch: ScratchFile,
    pages: usize,
    mapping: Option<Mapping>,
}

/// Anonymous pages with content.
pub(crate) fn anonymous(
    pages: usize,
    random: &mut Random,
    monitor: &dyn Monitor,
) -> Result<Support<Box<dyn Evictable>>> {
    let mut mapping = Mapping::anonymous(pages)?;
    for index in 0..pages {
        if index.is_multiple_of(LOOK) && monitor.stop_requested() {
            return Ok(Support::no(INTERRUPTED));
        }
        mapping.fill(index, random.words());
    }
    Ok(Support::Yes(Box::new(Anonymous(mapping))))
}

/// A scratch file in `directory` with content.
pub(crate) fn file(
    directory: &Path,
    pages: usize,
    random: &mut Random,
    monitor: &dyn Monitor,
) -> Result<Support<Box<dyn Evictable>>> {
    let mut scratch = match ScratchFile::create(directory).map_err(Error::of_named_file)? {
        Support::Yes(scratch) => scratch,
        Support::No(reason) => return Ok(Support::No(reason)),
    };
    let words = page_size().get() as usize / size_of::<u64>();
    let mut page = Vec::with_capacity(words * size_of::<u64>());
    for index in 0..pages {
        if index.is_multiple_of(LOOK) && monitor.stop_requested() {
            return Ok(Support::no(INTERRUPTED));
        }
        page.clear();
        let mut word = random.words();
        page.extend((0..words).flat_map(|_| word().to_ne_bytes()));
        scratch.append(&page)?;
    }
    Ok(Support::Yes(Box::new(File { scratch, pages, mapping: None })))
}

impl Evictable for Anonymous {
    /// A page that was written stays in the swap cache, where `MADV_PAGEOUT` does not reach it.
    /// Once touched, it is mapped and clean, and the next request frees it at once. So the
    /// remaining pages are touched and the request is repeated until nearly all pages are gone.
    fn evict(&mut self) -> Result<&Mapping> {
        const TRIES: u32 = 20;
        for _ in 0..TRIES {
            self.0.page_out()?;
            let resident = self.0.resident()?;
            let stayers: Vec<usize> = (0..resident.len()).filter(|&page| resident[page]).collect();
            if stayers.len() * 20 <= self.0.pages() {
                break;
            }
            thread::sleep(Duration::from_millis(10));
            for page in stayers {
                std::hint::black_box(self.0.touch(page));
            }
        }
        Ok(&self.0)
    }
}

impl Evictable for File {
    /// Mapped pages cannot be evicted, so the file is unmapped and mapped again.
    fn evict(&mut self) -> Result<&Mapping> {
        self.mapping = None;
        self.scratch.evict()?;
        let mapping = Mapping::of_file(self.scratch.file(), self.pages, Access::Random)?;
        Ok(self.mapping.insert(mapping))
    }
}
