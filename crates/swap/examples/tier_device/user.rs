//! The users of the device. They go on until their input ends.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::tier::until;
use crate::{Result, kernel};

pub(crate) const PAGE: usize = 4096;
/// Pages of the slow backing, and their bytes.
const SLOTS: u32 = 4096;
pub(crate) const SIZE: u64 = SLOTS as u64 * PAGE as u64;
/// Requests, at least.
const REQUESTS: u32 = 2_000;
/// Pages of a process that are swapped out and in.
const SWAPPED: usize = 1_500;
/// Their bytes, and the memory into which half of them fit.
pub(crate) const ALL: usize = SWAPPED * PAGE;
pub(crate) const MEMORY: usize = ALL / 2;
/// Pages of a process that it uses again and again, and that it does not.
pub(crate) const HOT: u64 = 300;
pub(crate) const COLD: u64 = 1_000;
/// Page-ins that are waited for, and their counter in `/proc/vmstat`.
const ENOUGH: u64 = 300;
pub(crate) const PAGE_INS: &str = "pswpin";
/// `BLKDISCARD` of `include/uapi/linux/fs.h`.
const BLKDISCARD: libc::c_ulong = 0x1277;

/// A page, aligned for direct I/O.
#[repr(C, align(4096))]
pub(crate) struct Aligned(pub(crate) [u8; PAGE]);

/// Becomes true when the input of this process ends.
fn end_of_input() -> Arc<AtomicBool> {
    let is_over = Arc::new(AtomicBool::new(false));
    let sets = Arc::clone(&is_over);
    thread::spawn(move || {
        let _ends = std::io::stdin().read_to_end(&mut Vec::new());
        sets.store(true, Ordering::Release);
    });
    is_over
}

/// Writes, reads and discards pages; each page that is read must be the one written last.
pub(crate) fn requests(path: &str) -> Result<()> {
    let flags = libc::O_DIRECT;
    let device = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut written = vec![None; SLOTS as usize];
    let mut page = Aligned([0; PAGE]);
    let (is_over, mut request) = (end_of_input(), 0);
    while request < REQUESTS || !is_over.load(Ordering::Acquire) {
        request += 1;
        // Some pages are used more often than others; the first one is the mark of the backing.
        let mut any = || 1 + chance.next_u32() % (SLOTS - 1);
        let slot = any().min(any()) as usize;
        let at = (slot * PAGE) as u64;
        match chance.next_u32() % 16 {
            0 => {
                discard(&device, at)?;
                written[slot] = None;
            }
            1..8 => {
                page.0 = content(slot, request);
                device.write_all_at(&page.0, at)?;
                written[slot] = Some(request);
            }
            _ => {
                device.read_exact_at(&mut page.0, at)?;
                if let Some(last) = written[slot]
                    && page.0 != content(slot, last)
                {
                    return Err(format!("page {slot} is not what request {last} wrote").into());
                }
            }
        }
    }
    println!("requests: {request} done");
    Ok(())
}

/// Writes pages of many threads at a time, and reads them.
pub(crate) fn many_requests(path: &str, threads: &str) -> Result<()> {
    let threads: usize = threads.parse()?;
    let is_over = end_of_input();
    let one = |slot: usize| -> std::io::Result<()> {
        let flags = libc::O_DIRECT;
        let device = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
        let (at, mut page, mut version) = ((slot * PAGE) as u64, Aligned([0; PAGE]), 0);
        while !is_over.load(Ordering::Acquire) {
            version += 1;
            page.0 = content(slot, version);
            device.write_all_at(&page.0, at)?;
            device.read_exact_at(&mut page.0, at)?;
            if page.0 != content(slot, version) {
                return Err(std::io::Error::other(format!("page {slot} is another one")));
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        // The first page is the mark of the backing.
        let threads: Vec<_> = (1..=threads).map(|slot| scope.spawn(move || one(slot))).collect();
        threads.into_iter().try_for_each(|thread| Ok(thread.join().map_err(|_| "a panic")??))
    })
}

fn content(slot: usize, version: u32) -> [u8; PAGE] {
    let mut page = [0; PAGE];
    let seed = (slot as u64) << 32 | u64::from(version);
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut page);
    page
}

fn discard(device: &File, at: u64) -> std::io::Result<()> {
    let range = [at, PAGE as u64];
    // SAFETY: the kernel reads two numbers of 64 bits.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), BLKDISCARD as _, range.as_ptr()) };
    if answer == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Waits until the process of [`swap`] has got some more pages back.
pub(crate) fn until_swapped() -> Result<()> {
    let before = kernel::counter(PAGE_INS)?;
    until(|| {
        kernel::reclaim(ALL / 4)?;
        Ok(kernel::counter(PAGE_INS)? >= before + ENOUGH)
    })
}

/// Uses many pages, more than fit into this process's memory if that is limited; each must be as it
/// was.
pub(crate) fn swap(memory: Option<usize>) -> Result<()> {
    kernel::throttle_memory(memory)?;
    let mut pages: Vec<Aligned> = Vec::with_capacity(SWAPPED);
    pages.extend((0..SWAPPED).map(|slot| Aligned(content(slot, 0))));
    let (is_over, mut round, before) = (end_of_input(), 0, kernel::counter(PAGE_INS)?);
    while !is_over.load(Ordering::Acquire) {
        for (slot, page) in pages.iter_mut().enumerate() {
            // Every third page is changed whenever it comes back.
            let changes = slot % 3 == 0;
            if page.0 != content(slot, if changes { round } else { 0 }) {
                return Err(format!("page {slot} of the process has changed, round {round}").into());
            }
            if changes {
                page.0 = content(slot, round + 1);
            }
        }
        round += 1;
    }
    let swapped = kernel::counter(PAGE_INS)? - before;
    println!("swap: {swapped} pages came back in {round} rounds");
    Ok(())
}

/// Uses more pages than there is memory for until many have come back; each must be as it was.
pub(crate) fn exhaust() -> Result<()> {
    const MORE: u64 = 100 << 20;
    const ENOUGH_OF_ALL: u64 = 5_000;
    /// Pages between two looks at the counter.
    const LOOK: usize = 1_000;
    let bytes = kernel::available()? + MORE;
    let value = |page: usize, word: usize| (page << 9 | word) as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let mut pages = vec![[0_u64; PAGE / 8]; bytes as usize / PAGE];
    for (number, page) in pages.iter_mut().enumerate() {
        for (at, word) in page.iter_mut().enumerate() {
            *word = value(number, at);
        }
    }
    let before = kernel::counter(PAGE_INS)?;
    let mut came_back = 0;
    for (number, page) in pages.iter().enumerate().cycle() {
        if page.iter().enumerate().any(|(at, word)| *word != value(number, at)) {
            return Err(format!("page {number} has changed").into());
        }
        if number % LOOK == 0 {
            came_back = kernel::counter(PAGE_INS)? - before;
            if came_back >= ENOUGH_OF_ALL {
                break;
            }
        }
    }
    println!("exhausted: {} pages of {bytes} bytes", pages.len());
    println!("exhausted: {came_back} pages came back");
    Ok(())
}

/// Has its pages swapped out, uses some of them again and again, after so many milliseconds each, and
/// all at the end; each must be as it was.
pub(crate) fn hot_and_cold(between_uses: &str) -> Result<()> {
    let between_uses = Duration::from_millis(between_uses.parse()?);
    let new = |pages: u64, version| -> Vec<Aligned> {
        (0..pages as usize).map(|slot| Aligned(content(slot, version))).collect()
    };
    let (mut hot, cold) = (new(HOT, 0), new(COLD, u32::MAX));
    let (is_over, mut round) = (end_of_input(), 0);
    evict(&cold)?;
    while !is_over.load(Ordering::Acquire) {
        for (slot, page) in hot.iter_mut().enumerate() {
            if page.0 != content(slot, round) {
                return Err(format!("hot page {slot} has changed, round {round}").into());
            }
            page.0 = content(slot, round + 1);
        }
        evict(&hot)?;
        round += 1;
        thread::sleep(between_uses);
    }
    match cold.iter().enumerate().find(|(slot, page)| page.0 != content(*slot, u32::MAX)) {
        None => Ok(()),
        Some((slot, _)) => Err(format!("cold page {slot} has changed").into()),
    }
}

/// Has pages swapped out and uses them again without a pause, beside pages that it never uses.
pub(crate) fn thrash() -> Result<()> {
    let new = |pages: u64| -> Vec<Aligned> {
        (0..pages as usize).map(|slot| Aligned(content(slot, 0))).collect()
    };
    let (mut hot, cold) = (new(HOT), new(COLD));
    let is_over = end_of_input();
    evict(&cold)?;
    while !is_over.load(Ordering::Acquire) {
        for page in &mut hot {
            page.0[0] = page.0[0].wrapping_add(1);
        }
        evict(&hot)?;
    }
    Ok(())
}

/// Has pages swapped out and unmaps them, or ends with them, again and again.
pub(crate) fn churn() -> Result<()> {
    let is_over = end_of_input();
    while !is_over.load(Ordering::Acquire) {
        let ended = Command::new(std::env::current_exe()?).arg("evict").status()?;
        if !ended.success() {
            return Err(format!("evict: {ended}").into());
        }
    }
    Ok(())
}

/// One of its processes.
pub(crate) fn evict_and_end() -> Result<()> {
    let pages = |version| (0..HOT as usize).map(|it| Aligned(content(it, version))).collect();
    for version in 0..7 {
        let unmapped: Vec<Aligned> = pages(version);
        evict(&unmapped)?;
    }
    let kept: Vec<Aligned> = pages(7);
    Ok(evict(kept.leak())?)
}

fn evict(pages: &[Aligned]) -> std::io::Result<()> {
    let start = pages.as_ptr().cast_mut().cast();
    // SAFETY: the pages are this process's, and stay as they are.
    let answer = unsafe { libc::madvise(start, size_of_val(pages), libc::MADV_PAGEOUT) };
    if answer == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
