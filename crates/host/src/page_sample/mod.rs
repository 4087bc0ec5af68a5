//! A sample of the anonymous pages that programs have in memory: what swap would get.
//!
//! Pages that are in swap already are not read, which would bring them back. Those of large
//! programs are in the sample as often as they are in memory.

mod share;
mod smaps;

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use crate::address_space::AddressSpace;
use crate::error::Result;
use crate::memory::{LockedPages, page_size};
use crate::root::Root;
use crate::support::Support;
use share::divide;
use smaps::Private;

/// The most pages that are taken from one place: a read of another process's memory takes a
/// thousand times as long as a page.
const RUN: usize = 8;
/// Entries of pagemap to look at in one place.
const WINDOW: usize = 64;
/// Places to look at for each one that is wanted: most of a sparse mapping is empty.
const TRIES: u64 = 8;
/// Bits of an entry: `Documentation/admin-guide/mm/pagemap.rst`.
const PRESENT: u64 = 1 << 63;
const OF_A_FILE_OR_SHARED: u64 = 1 << 61;

/// Pages of programs. They are kept from swap and from core dumps.
#[derive(Debug)]
pub struct PageSample {
    content: LockedPages,
    pages: usize,
    processes: usize,
}

impl PageSample {
    /// The number of pages.
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// The number of processes that they come from.
    pub fn processes(&self) -> usize {
        self.processes
    }

    /// The content of page `index`.
    ///
    /// # Panics
    /// If there is no such page.
    pub fn page(&self, index: usize) -> &[u8] {
        assert!(index < self.pages, "page {index} of {}", self.pages);
        self.content.get(index, 1)
    }

    /// The content of all pages.
    pub fn all(&self) -> &[u8] {
        self.content.get(0, self.pages)
    }
}

/// Takes about `wanted` pages of other processes. `below` gives random numbers below its argument.
/// `No` if there are none that this process may read.
///
/// # Errors
/// Memory for them cannot be locked; `/proc` cannot be read.
pub fn take(
    root: &Root,
    wanted: usize,
    below: &mut dyn FnMut(u64) -> u64,
    is_over: &dyn Fn() -> bool,
) -> Result<Support<PageSample>> {
    let mut sample = PageSample { content: LockedPages::new(wanted)?, pages: 0, processes: 0 };
    let processes = processes(root)?;
    let quotas = divide(wanted as u64, processes.iter().map(|(_, size)| *size));
    for (&(process, _), quota) in processes.iter().zip(quotas) {
        let before = sample.pages;
        if quota > 0 && !is_over() {
            sample.add(root, process, quota, below);
        }
        sample.processes += usize::from(sample.pages > before);
    }
    if sample.pages == 0 {
        let why = "no anonymous memory of other processes can be read: this needs CAP_SYS_PTRACE";
        return Ok(Support::no(why));
    }
    Ok(Support::Yes(sample))
}

impl PageSample {
    /// Adds up to `quota` pages of a process; it may end meanwhile.
    fn add(&mut self, root: &Root, process: u32, quota: u64, below: &mut dyn FnMut(u64) -> u64) {
        let Ok(Some(text)) = root.read_if_there(format!("/proc/{process}/smaps")) else { return };
        let pagemap = File::open(root.resolve(format!("/proc/{process}/pagemap")));
        let (Ok(space), Ok(pagemap)) = (AddressSpace::of(root, process), pagemap) else { return };
        let mappings = smaps::parse(&text);
        let quotas = divide(quota, mappings.iter().map(|mapping| mapping.anonymous.get()));
        for (Private { addresses, .. }, quota) in mappings.iter().zip(quotas) {
            let end = self.pages.saturating_add(usize::try_from(quota).unwrap_or(usize::MAX));
            let end = end.min(self.content.pages());
            for _ in 0..quota.div_ceil(RUN as u64) * TRIES {
                let page = page_size().get();
                let first = addresses.start / page;
                let pages = addresses.end / page - first;
                let most = RUN.min(end - self.pages);
                if most == 0 || pages == 0 {
                    break;
                }
                let at = first + below(pages);
                let window = WINDOW.min(usize::try_from(addresses.end / page - at).unwrap_or(1));
                let Some((at, count)) = present(&pagemap, at, window, most) else { continue };
                let length = count * page as usize;
                // A page that has moved meanwhile is not read.
                let Some(bytes) = space.bytes(root, at * page, length) else { continue };
                self.content.get_mut(self.pages, count).copy_from_slice(&bytes);
                self.pages += count;
            }
        }
    }
}

/// The first run of anonymous pages in memory among `window` pages from `at` on: its first page, and
/// its length, at most `most`.
fn present(pagemap: &File, at: u64, window: usize, most: usize) -> Option<(u64, usize)> {
    let mut entries = [0; WINDOW * 8];
    let entries = entries.get_mut(..window * 8)?;
    pagemap.read_exact_at(entries, at * 8).ok()?;
    let mut is_there = entries.chunks_exact(8).map(|entry| {
        let entry = u64::from_ne_bytes(entry.try_into().unwrap_or_default());
        entry & (PRESENT | OF_A_FILE_OR_SHARED) == PRESENT
    });
    let first = is_there.position(|there| there)?;
    let count = 1 + is_there.take_while(|there| *there).take(most - 1).count();
    Some((at + first as u64, count))
}

/// The other processes, and their anonymous memory in KiB.
fn processes(root: &Root) -> Result<Vec<(u32, u64)>> {
    let numbers = root.list("/proc")?.into_iter().filter_map(|name| name.parse().ok());
    let others = numbers.filter(|number| *number != std::process::id());
    let size = |number: u32| {
        let status = root.read_if_there(format!("/proc/{number}/status")).ok()??;
        let size = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
        Some((number, size.trim().strip_suffix(" kB")?.parse().ok()?))
    };
    Ok(others.filter_map(size).collect())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::process::Helper;

    #[test]
    fn pages_of_another_process_are_found_in_its_memory() {
        // A shell that holds 4 MiB of one letter.
        let script = "x=$(head -c 4194304 /dev/zero | tr '\\0' u); echo up; read end";
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = Helper::start(&mut command).unwrap();
        let (out, _) = shell.take_output();
        let mut said = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out.unwrap()), &mut said).unwrap();
        let root = Root::system();
        let mut state = 1_u64;
        let mut below = |end: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % end
        };
        let mut sample =
            PageSample { content: LockedPages::new(64).unwrap(), pages: 0, processes: 0 };
        sample.add(&root, shell.id(), 64, &mut below);
        assert!((32..=64).contains(&sample.pages()), "{}", sample.pages());
        let letters = |page: usize| sample.page(page).iter().all(|byte| *byte == b'u');
        let full = (0..sample.pages()).filter(|page| letters(*page)).count();
        assert!(full * 2 > sample.pages(), "{full} of {}", sample.pages());
        assert_eq!(sample.all().len(), sample.pages() * page_size().get() as usize);
    }
}
