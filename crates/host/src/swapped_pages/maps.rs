//! Finds the ranges in which a process may have swapped pages in what it has mapped, for kernels
//! without `PAGEMAP_SCAN`: `proc_pid_maps(5)`.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::ops::Range;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use super::proc_file::open;

/// The longest `/proc/PID/status`.
const LONGEST: u64 = 16 << 10;

/// Calls `each` with each range that the process has mapped, if it has pages in swap.
pub(super) fn visit(
    proc: BorrowedFd<'_>,
    process: &CStr,
    mut each: impl FnMut(Range<u64>) -> rustix::io::Result<()>,
) -> rustix::io::Result<()> {
    let failed = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    let mut status = Vec::new();
    let file = File::from(open(proc, process, b"/status")?);
    file.take(LONGEST).read_to_end(&mut status).map_err(failed)?;
    if !has_swap(&status) {
        return Ok(());
    }
    let mut maps = BufReader::new(File::from(open(proc, process, b"/maps")?));
    let mut line = Vec::new();
    while maps.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        if let Some(range) = mapped(&line) {
            each(range)?;
        }
        line.clear();
    }
    Ok(())
}

/// Whether a process has pages in swap, from its status: a kernel thread has none.
fn has_swap(status: &[u8]) -> bool {
    let size = |line: &[u8]| {
        let text = std::str::from_utf8(line).ok()?.strip_prefix("VmSwap:")?.trim();
        text.strip_suffix(" kB")?.parse::<u64>().ok()
    };
    status.split(|byte| *byte == b'\n').find_map(size).is_some_and(|kib| kib > 0)
}

/// The range of a line of maps: `7f12a000-7f12c000 rw-p …`. `None` for one that is only reserved,
/// and may be very large.
fn mapped(line: &[u8]) -> Option<Range<u64>> {
    let mut words = line.split(|byte| *byte == b' ');
    let range = words.next()?;
    if words.next() == Some(b"---p") {
        return None;
    }
    let (start, end) = std::str::from_utf8(range).ok()?.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some(number(start)?..number(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_parsed() {
        assert_eq!(
            mapped(b"7f12a000-7f12c000 rw-p 0 00:00 0 [heap]\n"),
            Some(0x7f12_a000..0x7f12_c000)
        );
        assert_eq!(mapped(b"ffffffffff600000-ffffffffff601000 --xp\n").unwrap().end % 4096, 0);
        for line in ["", "\n", "x-y r", "12 34", "12-", "1000-9000 ---p 0"] {
            assert_eq!(mapped(line.as_bytes()), None, "{line}");
        }
        assert!(has_swap(b"Name:\tx\nVmSwap:\t      12 kB\nThreads:\t1\n"));
        assert!(!has_swap(b"VmSwap:\t       0 kB\n"));
        assert!(!has_swap(b"Name:\tkthreadd\n"));
    }
}
