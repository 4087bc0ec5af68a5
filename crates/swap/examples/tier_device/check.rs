//! The user of the device.

use std::error::Error;
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use unjank_host::ublk::Control;

use crate::serve::SLOTS;

const PAGE: usize = 4096;
/// Kills of the server during each use.
const KILLS: u32 = 10;
/// Requests, at least.
const REQUESTS: u32 = 2_000;
/// Pages of a process that are swapped out and in, and how often at least.
const SWAPPED: usize = 3_000;
const SWAPS: u32 = 2;
/// The control groups of the phone.
const GROUPS: &str = "/sys/fs/cgroup";
/// `BLKDISCARD` of `include/uapi/linux/fs.h`.
const BLKDISCARD: libc::c_ulong = 0x1277;
/// `SWAP_FLAG_DISCARD` and `SWAP_FLAG_DISCARD_PAGES` of swapon(2).
const DISCARD_PAGES: libc::c_int = 0x1_0000 | 0x4_0000;

/// A page, aligned for direct I/O.
#[repr(C, align(4096))]
struct Aligned([u8; PAGE]);

/// The running server.
struct Server {
    process: Child,
    output: BufReader<ChildStdout>,
    id: String,
}

impl Server {
    fn start(arguments: [&str; 3], device: &str) -> Result<Self, Box<dyn Error>> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg("serve")
            .args(arguments)
            .arg(device)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut output = BufReader::new(process.stdout.take().ok_or("no output")?);
        let mut line = String::new();
        output.read_line(&mut line)?;
        let id = line.trim().strip_prefix("serving ").ok_or("the server did not start")?;
        Ok(Self { process, output, id: id.to_owned() })
    }

    /// Kills it, and starts another one.
    fn replace(&mut self, arguments: [&str; 3]) -> Result<(), Box<dyn Error>> {
        self.process.kill()?;
        self.process.wait()?;
        let mut control = Control::open()?.yes().ok_or("no ublk")?;
        let device = self.id.parse()?;
        while !control.is_without_server(device)? {
            thread::sleep(Duration::from_millis(10));
        }
        *self = Self::start(arguments, &self.id)?;
        Ok(())
    }

    /// Stops and removes the device. Returns what the server counted.
    fn end(mut self) -> Result<String, Box<dyn Error>> {
        let mut control = Control::open()?.yes().ok_or("no ublk")?;
        let device = self.id.parse()?;
        control.stop(device)?;
        let mut rest = String::new();
        self.output.read_to_string(&mut rest)?;
        self.process.wait()?;
        control.remove(device)?;
        Ok(rest.trim().to_owned())
    }
}

pub(crate) fn run(slow: &str, fast: &str, policy: &str) -> Result<(), Box<dyn Error>> {
    let (slow, fast) = (backing(slow)?, backing(fast)?);
    let arguments = [&*slow, &*fast, policy];
    let mut server = Server::start(arguments, "new")?;
    let path = format!("/dev/ublkb{}", server.id);
    for way in ["requests", "swap"] {
        beside_kills(&mut server, arguments, way, &path)?;
    }
    println!("{}", server.end()?);
    Ok(())
}

/// The path of a backing; of a new device if it is `zram`.
fn backing(name: &str) -> Result<String, Box<dyn Error>> {
    if name != "zram" {
        return Ok(name.to_owned());
    }
    let number = fs::read_to_string("/sys/class/zram-control/hot_add")?;
    let number = number.trim();
    fs::write(format!("/sys/block/zram{number}/disksize"), (SLOTS as usize * PAGE).to_string())?;
    Ok(format!("/dev/zram{number}"))
}

/// Kills the server again and again while another process uses the device. A process of its own,
/// because a page fault that waits for the device holds locks of its process.
fn beside_kills(
    server: &mut Server,
    arguments: [&str; 3],
    way: &str,
    path: &str,
) -> Result<(), Box<dyn Error>> {
    let mut user = Command::new(std::env::current_exe()?);
    let mut user = user.args([way, path]).stdin(Stdio::piped()).spawn()?;
    for _ in 0..KILLS {
        thread::sleep(Duration::from_millis(200));
        server.replace(arguments)?;
    }
    println!("{way}: {KILLS} kills");
    // It goes on until its input ends.
    drop(user.stdin.take());
    let status = user.wait()?;
    if status.success() { Ok(()) } else { Err(format!("{way}: {status}").into()) }
}

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
pub(crate) fn requests(path: &str) -> Result<(), Box<dyn Error>> {
    let flags = libc::O_DIRECT;
    let device = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut written = vec![None; SLOTS as usize];
    let mut page = Aligned([0; PAGE]);
    let (is_over, mut request) = (end_of_input(), 0);
    while request < REQUESTS || !is_over.load(Ordering::Acquire) {
        request += 1;
        // Some pages are used more often than others.
        let slot = (chance.next_u32() % SLOTS).min(chance.next_u32() % SLOTS) as usize;
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

/// Swaps pages of this process out and in; each must be as it was.
pub(crate) fn swap(path: &str) -> Result<(), Box<dyn Error>> {
    let device = OpenOptions::new().write(true).open(path)?;
    device.write_all_at(&swap_header(), 0)?;
    device.sync_all()?;
    drop(device);
    let name = CString::new(path)?;
    // SAFETY: swapon(2) reads a path that ends in a zero byte.
    if unsafe { libc::swapon(name.as_ptr(), DISCARD_PAGES) } != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    throttle_memory()?;
    let mut pages: Vec<Aligned> = Vec::with_capacity(SWAPPED);
    pages.extend((0..SWAPPED).map(|slot| Aligned(content(slot, 0))));
    let (is_over, mut round, before) = (end_of_input(), 0, counter("pswpin")?);
    while round < SWAPS || !is_over.load(Ordering::Acquire) {
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
    let swapped = counter("pswpin")? - before;
    // SAFETY: as swapon(2).
    if unsafe { libc::swapoff(name.as_ptr()) } != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    println!("swap: {swapped} pages came back in {round} rounds");
    Ok(())
}

/// Keeps about a half of the pages of this process in memory (version 2 of control groups).
fn throttle_memory() -> std::io::Result<()> {
    let group = Path::new(GROUPS).join("tier");
    fs::write(Path::new(GROUPS).join("cgroup.subtree_control"), "+memory")?;
    fs::create_dir(&group)?;
    fs::write(group.join("memory.high"), (SWAPPED * PAGE / 2).to_string())?;
    fs::write(group.join("cgroup.procs"), std::process::id().to_string())
}

/// A counter of `/proc/vmstat`.
fn counter(name: &str) -> Result<u64, Box<dyn Error>> {
    let counters = fs::read_to_string("/proc/vmstat")?;
    let mut lines = counters.lines().filter_map(|line| line.split_once(' '));
    let (_, value) = lines.find(|(found, _)| *found == name).ok_or("no such counter")?;
    Ok(value.parse()?)
}

/// The first page of a swap area: `union swap_header` of `include/linux/swap.h`.
fn swap_header() -> [u8; PAGE] {
    let mut page = [0; PAGE];
    page[1024..1028].copy_from_slice(&1_u32.to_ne_bytes());
    page[1028..1032].copy_from_slice(&(SLOTS - 1).to_ne_bytes());
    page[PAGE - 10..].copy_from_slice(b"SWAPSPACE2");
    page
}
