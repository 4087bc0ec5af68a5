//! Reads of the file system and of a swap area on storage.

use std::fs::File;
use std::path::Path;

use unjank_host::machine::{SwapDevice, SwapKind, swap};
use unjank_host::memory::page_size;
use unjank_host::storage::ScratchFile;
use unjank_host::{Error, Result, Root, Support};
use unjank_measure::{Monitor, Series};

use super::measured::{Groups, Storage};
use super::target::Target;
use crate::probe::Random;

/// Pages of the scratch file: 16 MiB.
const PAGES: u64 = 4096;

/// A place on storage whose reads are timed.
#[derive(Debug)]
pub(super) struct Place {
    /// As in a sentence: `files in /home`.
    pub(super) name: String,
    pub(super) target: Target,
    pub(super) read: Series,
    pub(super) groups: Groups,
}

/// A new scratch file in `directory`.
pub(super) fn file_system(
    directory: &Path,
    random: &mut Random,
    monitor: &dyn Monitor,
) -> Result<Support<Place>> {
    let mut scratch = match ScratchFile::create(directory).map_err(Error::of_named_file)? {
        Support::Yes(scratch) => scratch,
        Support::No(reason) => return Ok(Support::No(reason)),
    };
    let mut page = Vec::new();
    for _ in 0..PAGES {
        if monitor.stop_requested() {
            return Ok(Support::no("interrupted"));
        }
        page.clear();
        let mut word = random.words();
        page.extend((0..page_size().get() / 8).flat_map(|_| word().to_ne_bytes()));
        scratch.append(&page)?;
    }
    scratch.evict()?;
    let file = scratch.file().try_clone();
    let file = file.map_err(|source| Error::file("open again", directory, source))?;
    place(format!("files in {}", directory.display()), "file", file, directory, 0, PAGES)
}

/// The swap area on storage with the highest priority; `None` if there is none.
pub(super) fn swap_area(root: &Root) -> Result<Option<Support<Place>>> {
    let is_on_storage = |device: &SwapDevice| device.kind != SwapKind::Zram;
    let Some(area) = swap::devices(root)?.into_iter().find(is_on_storage) else {
        return Ok(None);
    };
    if area.kind == SwapKind::File {
        // Extents that were only allocated read as zeros, although swap has written there.
        return Ok(Some(Support::no(
            "a swap file cannot be read past its file system; files stand for it",
        )));
    }
    let path = Path::new(&area.path);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(source) => {
            return Ok(Some(Support::No(Error::file("open", path, source).to_string())));
        }
    };
    let pages = area.size.get() / page_size().get();
    place(area.path.clone(), "swap", file, path, 1, pages.saturating_sub(1)).map(Some)
}

fn place(
    name: String,
    label: &str,
    file: File,
    path: &Path,
    first: u64,
    pages: u64,
) -> Result<Support<Place>> {
    let series = Series::new("swap/tune/read").with_label("storage", label);
    Ok(Target::of(file, path, first, pages)?.map(|target| Place {
        name,
        target,
        read: series,
        groups: Groups::default(),
    }))
}

impl Place {
    pub(super) fn finish(self) -> Storage {
        Storage { name: self.name, read: self.read.finish(), groups: self.groups.medians() }
    }
}
